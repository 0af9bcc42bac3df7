/** What grows with the length: the cache evenly, the work of attention with its square; with points of a real run. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { shortDtype } from "../../shared/facts/dtypes.js";
import { bytesShort, integer, short } from "../../shared/facts/format.js";
import { attentionCurve, attentionFlops, cacheCurve, pairCost } from "../curves.js";
import { lengthsOf, shapeOf } from "../points.js";
import { requestBytes } from "../sizes.js";
import { coloursOf, estimate, layoutOf, line, measured } from "./drawings.js";
import { Figure } from "./figure.js";

/** @param {{understood: Object, run: Object, theme: string}} props */
export function Lengths({ understood, run, theme }) {
  const [logarithmic, setLogarithmic] = useState(true);
  const rest = { understood, theme, logarithmic, real: useMemo(() => realOf(run), [run]) };
  return html`<div class="grid">
    <label class="axes whole line"><input type="checkbox" checked=${logarithmic} onChange=${() => setLogarithmic(!logarithmic)} /> logarithmic axes, where what grows evenly has slope 1 and a square slope 2</label>
    <${Cache} ...${rest} />
    <${Attention} ...${rest} />
  </div>`;
}

/** The run's shape, dtype and steps; null where there are none yet. */
function realOf({ open, steps }) {
  if (!open || steps.length === 0) return null;
  return {
    model: shapeOf(open.model),
    stored: { dtype: shortDtype(open.model.dtype) },
    lengths: lengthsOf(steps),
  };
}

function Cache({ understood: { model, inputs }, real, logarithmic, theme }) {
  const most = Math.max(inputs.context, 2);
  const here = { x: inputs.context, y: requestBytes(model, inputs.context, inputs.cache).value };
  const points = (real?.lengths ?? []).map(({ tokens, bytes }) => ({
    x: tokens,
    y: bytes,
    says: `${integer(tokens)} tokens<br>${bytesShort(bytes)}, measured`,
  }));
  const drawing = useMemo(() => {
    const colours = coloursOf(theme);
    return {
      traces: [
        line(model.name, cacheCurve(model, inputs.cache, most), colours.cached),
        estimate(
          "the context above",
          [{ ...here, says: `${integer(here.x)} tokens<br>${bytesShort(here.y)}` }],
          colours.cached,
        ),
        ...(real
          ? [
              line(`${real.model.name}, formula`, cacheCurve(real.model, real.stored, most), colours.muted, "dot"),
              measured(`${real.model.name}, measured`, points, colours.output),
            ]
          : []),
      ],
      layout: layoutOf(colours, {
        x: { title: "tokens" },
        y: { title: "cache of one request", suffix: "B" },
        logarithmic,
      }),
    };
  }, [model, inputs, real, logarithmic, theme]);
  const rows = points.map(({ x, y }) => [
    integer(x),
    integer(y),
    integer(requestBytes(real.model, x, real.stored).value),
  ]);
  return html`<section class="own-card stack box is-chart" aria-label="Cache against length">
    <h2>The cache grows with the length</h2>
    <p class="muted">Twice the tokens, twice the bytes${model.window ? ", until layers with a window keep no more" : ""}.</p>
    <${Figure} name="Cache against length" drawing=${drawing} table=${{ head: ["tokens", "measured, B", "formula, B"], rows }} />
  </section>`;
}

function Attention({ understood: { model, inputs }, real, logarithmic, theme }) {
  const most = Math.max(inputs.context, 2);
  const cost = real && pairCost(real.model);
  const points = (real?.lengths ?? []).map(({ tokens, pairs }) => ({
    x: tokens,
    y: pairs * cost,
    says: `${integer(tokens)} tokens<br>${integer(pairs)} pairs in each head<br>${short(pairs * cost, "FLOP")}`,
  }));
  const drawing = useMemo(() => {
    const colours = coloursOf(theme);
    return {
      traces: [
        line(model.name, attentionCurve(model, most), colours.computed),
        ...(real
          ? [
              line(`${real.model.name}, formula`, attentionCurve(real.model, most), colours.muted, "dot"),
              measured(`${real.model.name}, visible pairs of its rows`, points, colours.output),
            ]
          : []),
      ],
      layout: layoutOf(colours, {
        x: { title: "tokens" },
        y: { title: "work of attention so far", suffix: "FLOP" },
        logarithmic,
      }),
    };
  }, [model, inputs, real, logarithmic, theme]);
  const rows = points.map(({ x, y }) => [integer(x), integer(y), integer(attentionFlops(real.model, x))]);
  return html`<section class="own-card stack box is-chart" aria-label="Attention against length">
    <h2>The work of attention grows with its square</h2>
    <p class="muted">Each token looks at all before it: twice the tokens, four times the pairs. Only pairs that the mask leaves are counted here; a dense product computes the others too, and the FLOP of a run's log include them.</p>
    <${Figure} name="Attention against length" drawing=${drawing} table=${{ head: ["tokens", "visible pairs, FLOP", "formula, FLOP"], rows }} />
  </section>`;
}
