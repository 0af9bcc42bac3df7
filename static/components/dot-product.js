/** One query·key pair as arithmetic: q·k, the scaling, the softmax, and what it adds to the head's output. */

import { html } from "htm/preact";
import { useCallback, useMemo, useState } from "preact/hooks";
import { cellsAt } from "../draw/pixels.js";
import { paintTiles } from "../draw/tiles.js";
import { dotProduct, largestTerms, termAt } from "../model/dot-product.js";
import { counted, fixed, tokenLabel } from "../model/format.js";
import { Badge } from "./bits.js";
import { pointInside, useRatio, useSize, useTheme } from "./hooks.js";
import { imageOf, Surface } from "./surface.js";
import { useHead } from "./use-head.js";

const TERMS = 2;
const TILES = { lineHeight: 11, lineGap: 4 };

export function DotProduct({ state, focus, client }) {
  const { run, playing } = state;
  const { layer, head, query, key, locked, preview } = focus;
  const step = run.stepOfQuery(query);
  const settled = !preview && (!playing || (locked && state.selection.query !== null));
  const ready = state.readiness.state === "ready";
  const { status, values } = useHead(client, settled && ready ? { run: run.id, step, layer, head } : null);
  const pair = useMemo(
    () => (values ? dotProduct(values, { row: query - run.steps[step].firstQuery, key, query }) : null),
    [values, query, key],
  );
  const names = { query: tokenLabel(run.tokens[query], 12), key: tokenLabel(run.tokens[key], 12) };
  const origin = originOf(run, state.step, query, key);
  const weight = run.weight(layer, head, query, key);
  return html`<div class="dot-card">
    ${pair
      ? html`<${Exact} pair=${pair} names=${names} origin=${origin} themeName=${state.theme} />`
      : html`<${Wire} status=${settled && !ready ? "failed" : status} names=${names} weight=${weight} origin=${origin} />`}
  </div>`;
}

function Vector({ name, of }) {
  return html`<span class=${name === "q" ? "word-computed" : "word-cached"}>${name}<sub><bdi>${of}</bdi></sub></span>`;
}

function Exact({ pair, names, origin, themeName }) {
  const weight = fixed(pair.weight, 3);
  return html`<p class="dot-line">
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> = <b>${fixed(pair.dot, 2)}</b>
      ${" "}÷ √${pair.headDim} = <b>${fixed(pair.score, 2)}</b> → softmax over ${counted(pair.keys, "key")} →${" "}
      <b class="word-output">${weight}</b>
    </p>
    <p class="dot-line">
      output += <b class="word-output">${weight}</b> × <${Vector} name="v" of=${names.key} />${" "}
      <${Badge} origin="computed" /> <span class="dot-origin">${origin}</span>
    </p>
    <${Strips} pair=${pair} themeName=${themeName} />`;
}

function Term({ index, q, k, product }) {
  return html`<span>#${index}: ${fixed(q, 2)} × ${fixed(k, 2)} = ${fixed(product, 2)}</span>`;
}

function Strips({ pair, themeName }) {
  const [ref, size] = useSize();
  const [pointed, setPointed] = useState(null);
  const theme = useTheme(themeName);
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const onPointerMove = (event) => {
    setPointed(cellsAt(pointInside(event).x, 0, width, pair.headDim, pair.headDim)?.[0] ?? null);
  };
  const lines = [pair.q, pair.k, pair.products];
  const height = lines.length * (TILES.lineHeight + TILES.lineGap) - TILES.lineGap;
  const painted = useMemo(
    () => (width ? imageOf(paintTiles(lines, { theme }, { ...TILES, width, ratio })) : null),
    [pair, theme, width, ratio],
  );
  const draw = useCallback(
    (context) => painted && context.drawImage(painted, 0, 0, width, height),
    [painted, width, height],
  );
  return html`<div
    class="strips" role="img"
    aria-label=${`The ${pair.headDim} numbers of q and of k, and their products, which sum to ${fixed(pair.dot, 2)}`}
  >
      <div class="strip-names" aria-hidden="true"><span>q</span><span>k</span><span>q × k</span></div>
      <div
        class="strip-tiles" ref=${ref} style=${`height:${height}px`} onPointerMove=${onPointerMove}
        onPointerLeave=${() => setPointed(null)}
      >
        ${painted && html`<${Surface} width=${width} height=${height} ratio=${ratio} draw=${draw} />`}
      </div>
      <div class="strip-names" aria-hidden="true"><span></span><span></span><span>Σ = ${fixed(pair.dot, 2)}</span></div>
    </div>
    <p class="dot-terms">
      ${
        pointed === null
          ? html`largest of ${pair.headDim}: ${largestTerms(pair, TERMS).map((term) => html`<${Term} ...${term} />`)}`
          : html`this one: <${Term} ...${termAt(pair, pointed)} />`
      }
    </p>`;
}

const WIRE_NOTES = {
  idle: "Pause, or click a cell, to see its dot product.",
  loading: "Asking the model for the exact values…",
  failed: "Exact values need the model; this is the value in the log.",
};

function Wire({ status, names, weight, origin }) {
  return html`<p class="dot-line">
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> → ÷ √d → softmax →${" "}
      <b class="word-output">${fixed(weight, 3)}</b> ± 0.004 <${Badge} origin="computed" />
    </p>
    <p class="dot-hint">${WIRE_NOTES[status]} <span class="dot-origin">${origin}</span></p>`;
}

/** Where k and v of a key came from for a query, in the words of the step that is shown. */
function originOf(run, step, query, key) {
  const written = run.stepOfQuery(key);
  const made = run.stepOfQuery(query);
  const fresh = written === made;
  const when = made === step ? "this step" : `step ${made}`;
  if (fresh) return html`q, k, v: <span class="word-computed">computed in ${when}</span>; k, v are kept`;
  return html`k, v: from the <span class="word-cached">cache</span>, step ${written}; q: ${when} only`;
}
