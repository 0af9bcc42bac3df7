/** One query·key pair in short: q·k, the scaling, the softmax, what it adds; and the four vectors it is made of. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bareLabel, bounded, counted, fixed } from "../../facts/format.js";
import { DAMAGED, NOT_STORED } from "../../facts/saved-session.js";
import { Badge } from "../../ui/badge.js";
import { Dimensions } from "../pair/dimensions.js";
import { bySize, dotProduct } from "../pair/dot-product.js";
import { Vector } from "../pair/vector.js";

/** @param {{state: Object, focus: Object, exact: Object, dispatch: Function}} props `exact` as `useHeadValues` gives it */
export function DotProduct({ state, focus, exact, dispatch }) {
  const { run } = state;
  const { layer, head, query, key } = focus;
  const { status, values, row, stored } = exact;
  const pair = useMemo(() => (values ? dotProduct(values, { row, key, query }) : null), [values, row, query, key]);
  if (key === null)
    return html`<section class="dot-card" aria-label="This query and this key"><${Awaited} /></section>`;
  const names = { query: bareLabel(run.tokens[query], 12), key: bareLabel(run.tokens[key], 12) };
  const origin = originOf(run, state.step, { query, key, stored: stored && Boolean(values) });
  const weight = run.weight(layer, head, query, key);
  const onOpen = () => dispatch({ type: "enter", selection: { query, key, view: "pair" } });
  return html`<section class="dot-card" data-missing=${MISSING.includes(status) || undefined} aria-label="This query and this key">
    ${
      pair
        ? html`<${Exact} pair=${pair} names=${names} origin=${origin} onOpen=${onOpen} />`
        : html`<${Wire} status=${status} names=${names} weight=${weight} origin=${origin} headDim=${run.open.model.head_dim} />`
    }
  </section>`;
}

/** What a cell will be opened into. */
function Awaited() {
  return html`<p class="dot-line">
      <${Vector} name="q" /> · <${Vector} name="k" /> ÷ √d → softmax → <b class="word-output">weight</b>
    </p>
    <p class="dot-line">output += <b class="word-output">weight</b> × <${Vector} name="v" /></p>
    <p class="dot-hint">That is how each cell is made, from three vectors. Their numbers are here once the prompt has gone through.</p>`;
}

function Exact({ pair, names, origin, onOpen }) {
  const weight = bounded(pair.weight, 3);
  return html`<p class="dot-line">
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> = <b>${fixed(pair.dot, 2)}</b>
      ${" "}÷ √${pair.headDim} = <b>${fixed(pair.score, 2)}</b> → softmax over ${counted(pair.keys, "key")} →${" "}
      <b class="word-output">${weight}</b>
    </p>
    <p class="dot-line">
      output += <b class="word-output">${weight}</b> × <${Vector} name="v" of=${names.key} />${" "}
      <${Badge} origin="computed" /> <span class="dot-origin">${origin}</span>
    </p>
    <${Vectors} pair=${pair} names=${names} onOpen=${onOpen} />`;
}

function vectorsOf({ query, key }) {
  return [
    { word: "q", name: html`<${Vector} name="q" of=${query} />` },
    { word: "k", name: html`<${Vector} name="k" of=${key} />` },
    { word: "v", name: html`<${Vector} name="v" of=${key} />` },
    { word: "output", name: html`<span class="word-output">output</span>` },
  ];
}

function Vectors({ pair, names, onOpen }) {
  const [chosen, setChosen] = useState(null);
  const order = useMemo(() => Array.from(pair.q, (_, dimension) => dimension), [pair.headDim]);
  const dimension = chosen ?? bySize(pair.products)[0];
  const lines = vectorsOf(names).map((vector) => ({ ...vector, values: pair[vector.word] }));
  const told = lines.map(({ word, values }) => `${word} ${fixed(values[dimension], 2)}`);
  return html`<${Dimensions}
      name=${`One of the ${pair.headDim} numbers of q, k, v and output`} text=${`i = ${dimension}: ${told.join(", ")}`}
      lines=${lines} order=${order} chosen=${dimension} onChoose=${setChosen}
    />
    <p class="dot-terms">
      <span class="dot-told">i = ${dimension}: ${told.join(" · ")}</span>
      <button type="button" class="dot-open" onClick=${onOpen}>Term by term ▸</button>
    </p>`;
}

const WIRE_NOTES = {
  idle: "Pause, or click a cell, to see its dot product.",
  loading: "Asking the model for the exact values…",
  none: `Exact values are ${NOT_STORED}; this is the value in the log.`,
  damaged: `Exact values are ${DAMAGED}; this is the value in the log.`,
  failed: "Exact values need the model; this is the value in the log.",
};

/** Where no numbers will come, no room is kept for them. */
const MISSING = ["none", "damaged", "failed"];

function Wire({ status, names, weight, origin, headDim }) {
  return html`<p class="dot-line">
      <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> → ÷ √d → softmax →${" "}
      <b class="word-output">${fixed(weight, 3)}</b> ± 0.004 <${Badge} origin="computed" />
    </p>
    <p class="dot-hint">${WIRE_NOTES[status]} <span class="dot-origin">${origin}</span></p>
    ${!MISSING.includes(status) && html`<${Places} names=${names} headDim=${headDim} />`}`;
}

/** Where the numbers of the four vectors will be. */
function Places({ names, headDim }) {
  const vectors = vectorsOf(names);
  return html`<div class="dimensions" aria-hidden="true">
    <div class="dimension-names">${vectors.map(({ name }) => html`<span>${name}</span>`)}</div>
    <div class="dimension-places" style=${`--numbers:${headDim}`}>${vectors.map(() => html`<i></i>`)}</div>
  </div>`;
}

/** Where k and v of a key came from for a query, in the words of the step that is shown. */
function originOf(run, step, { query, key, stored }) {
  const written = run.stepOfQuery(key);
  const made = run.stepOfQuery(query);
  const fresh = written === made;
  const when = made === step ? "this step" : `step ${made}`;
  const end = stored ? ", stored with this session" : "";
  if (fresh) return html`q, k, v: <span class="word-computed">computed in ${when}</span>${end || "; k, v are kept"}`;
  return html`k, v: from the <span class="word-cached">cache</span>, step ${written}; q: ${when} only${end}`;
}
