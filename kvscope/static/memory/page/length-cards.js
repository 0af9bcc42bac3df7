/** Growth with the length: the cache is linear, the work of attention quadratic. With points of a real run. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { shortDtype } from "../../shared/facts/dtypes.js";
import { bytesShort, integer, short } from "../../shared/facts/format.js";
import { shapeOf } from "../../shared/sizes/shape-of.js";
import { requestBytes } from "../../shared/sizes/sizes.js";
import { tokenCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { attentionCurve, attentionFlops, cacheCurve, pairCost } from "../curves.js";
import { lengthsOf } from "../points.js";
import { Figure } from "./figure.js";

/** @param {{setup: Object, run: Object}} props */
export function Lengths({ setup, run }) {
  const [logarithmic, setLogarithmic] = useState(true);
  const rest = { setup, logarithmic, real: useMemo(() => realOf(run), [run]) };
  return html`<div class="grid">
    <label class="axes whole line"><input type="checkbox" checked=${logarithmic} onChange=${() => setLogarithmic(!logarithmic)} /> ${msg`logarithmic axes: linear growth has slope 1, quadratic growth has slope 2`}</label>
    <${Cache} ...${rest} />
    <${Attention} ...${rest} />
  </div>`;
}

/** The run's shape, dtype and steps; null before its first step. */
function realOf({ open, steps }) {
  if (!open || steps.length === 0) return null;
  return {
    model: shapeOf(open.model),
    stored: { dtype: shortDtype(open.model.dtype) },
    lengths: lengthsOf(steps, open.model.windows),
  };
}

/** The chosen model's curve and, with a run, the curve of its model and its measured points. */
function seriesOf({ model, tone, curve, real, realCurve, points, realName }) {
  return [
    { name: model.name, kind: "line", tone, points: curve },
    ...(real
      ? [
          { name: msg`${real.model.name}, formula`, kind: "line", tone: "muted", thin: true, points: realCurve },
          { name: realName, kind: "measured", tone: "output", points },
        ]
      : []),
  ];
}

function Cache({ setup: { model, inputs }, real, logarithmic }) {
  const most = Math.max(inputs.context, 2);
  const points = useMemo(
    () =>
      (real?.lengths ?? []).map(({ tokens, bytes }) => ({
        ...{ x: tokens, y: bytes },
        lines: [tokenCount(tokens), msg`${bytesShort(bytes)} measured`],
      })),
    [real],
  );
  const series = useMemo(() => {
    const size = requestBytes(model, inputs.context, inputs.cache).value;
    const here = { x: inputs.context, y: size, lines: [tokenCount(inputs.context), bytesShort(size)] };
    const [first, ...others] = seriesOf({
      ...{ model, tone: "cached", real, points },
      curve: cacheCurve(model, inputs.cache, most),
      realCurve: real && cacheCurve(real.model, real.stored, most),
      realName: real && msg`${real.model.name}, measured`,
    });
    return [first, { name: msg`chosen context`, kind: "estimated", tone: "cached", points: [here] }, ...others];
  }, [model, inputs, real]);
  const rows = points.map(({ x, y }) => [
    integer(x),
    integer(y),
    integer(requestBytes(real.model, x, real.stored).value),
  ]);
  return html`<section class="own-card stack box is-chart" aria-label=${msg`Cache against length`} data-names="cache-length">
    <h2>${msg`How the cache grows with the length`}</h2>
    <p class="muted">${model.window ? msg`Twice the tokens take twice the bytes, until the layers with a window are full.` : msg`Twice the tokens take twice the bytes.`}</p>
    <${Figure} name=${msg`Cache against length`} x=${{ title: msg`tokens` }} y=${{ title: msg`cache of one request`, unit: "B" }} logarithmic=${logarithmic} series=${series} table=${{ head: [msg`tokens`, msg`measured, B`, msg`formula, B`], rows }} />
  </section>`;
}

function Attention({ setup: { model, inputs }, real, logarithmic }) {
  const most = Math.max(inputs.context, 2);
  const points = useMemo(() => {
    const cost = real && pairCost(real.model);
    return (real?.lengths ?? []).map(({ tokens, pairs }) => ({
      ...{ x: tokens, y: pairs * cost },
      lines: [tokenCount(tokens), msg`pairs per head: ${integer(pairs)}`, short(pairs * cost, "FLOP")],
    }));
  }, [real]);
  const series = useMemo(
    () =>
      seriesOf({
        ...{ model, tone: "computed", real, points },
        curve: attentionCurve(model, most),
        realCurve: real && attentionCurve(real.model, most),
        realName: real && msg`${real.model.name}, visible pairs`,
      }),
    [model, most, real],
  );
  const rows = points.map(({ x, y }) => [integer(x), integer(y), integer(attentionFlops(real.model, x))]);
  return html`<section class="own-card stack box is-chart" aria-label=${msg`Attention against length`} data-names="attention-length">
    <h2>${msg`How the work of attention grows with the length`}</h2>
    <p class="muted">${model.window ? msg`Where each token attends to all tokens before it, twice the tokens make about four times the pairs; in layers with a window that is full, about twice.` : msg`Each token attends to all tokens before it: twice the tokens make about four times the pairs.`}
      ${" "}${msg`This chart counts only pairs that the causal mask allows: a token with itself or an earlier one. A full matrix product also computes the masked pairs, and the FLOP in a run’s log include them.`}</p>
    <${Figure} name=${msg`Attention against length`} x=${{ title: msg`tokens` }} y=${{ title: msg`work of attention in total`, unit: "FLOP" }} logarithmic=${logarithmic} series=${series} table=${{ head: [msg`tokens`, msg`visible pairs, FLOP`, msg`formula, FLOP`], rows }} />
  </section>`;
}
