/** The roofline of this machine, as measured, with the run's own prefill and decode under it. */

import { scaleLog } from "d3-scale";
import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { short } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { useSize } from "../../../shared/ui/use-size.js";
import { msg } from "../../../shared/words/msg.js";
import { isMeasuredBusy, roofline, roofTexts } from "./roof.js";

const HEIGHT_PX = 240;
const LEFT_PX = 76;
const EDGES = { top: 10, right: 10, bottom: 24 };
const POINT_PX = 6;

/** @param {{prefill: Object|null, decode: Object|null, measured: Object, format: string}} props `measured`: as `/api/measure` has it; `format`: of the weights that the run read */
export function Roofline({ prefill, decode, measured, format }) {
  const facts = useMemo(() => roofline({ prefill, decode }, measured), [prefill, decode, measured]);
  const texts = roofTexts(facts, measured);
  const [ref, size] = useSize();
  const isDisturbed = facts.points.some(({ disturbed }) => disturbed) || isMeasuredBusy(measured);
  return html`<div class="roofline">
    <h4>${msg`This run under the roof of this machine`} <${Badge} origin=${isDisturbed ? "disturbed" : "measured"} /></h4>
    <p class="muted small" aria-hidden="true">${msg`FLOP per second`}</p>
    <div ref=${ref} style=${`height:${HEIGHT_PX}px`} role="img" aria-label=${texts.join(" ")}>
      ${size && html`<${Drawing} facts=${facts} width=${size.width} />`}
    </div>
    <p class="centred muted small" aria-hidden="true">${msg`FLOP per byte read`}</p>
    <p class="sheet-say">${texts.join(" ")}</p>
    <p class="sheet-note muted small">${msg`On the slope, memory bandwidth limits the speed; on the flat part, the peak does. Both were measured with dense ${measured.dtype} matrices; the run read its weights in ${format}.`}</p>
  </div>`;
}

function Drawing({ facts, width }) {
  const x = scaleLog(facts.x, [LEFT_PX, width - EDGES.right]);
  const y = scaleLog(facts.y, [HEIGHT_PX - EDGES.bottom, EDGES.top]);
  const [bottom, right] = [HEIGHT_PX - EDGES.bottom, width - EDGES.right];
  const path = facts.line.map(([at, value], i) => `${i ? "L" : "M"}${x(at)},${y(value)}`).join("");
  return html`<svg width=${width} height=${HEIGHT_PX} aria-hidden="true">
    ${powersIn(facts.y).map(
      (tick) => html`<g key=${tick} transform=${`translate(0,${y(tick)})`}>
        <line class="chart-grid" x1=${LEFT_PX} x2=${right} />
        <text class="chart-tick small mono" x=${LEFT_PX - 6} dy="0.35em" text-anchor="end">${short(tick, "")}</text>
      </g>`,
    )}
    ${powersIn(facts.x).map(
      (tick) =>
        html`<text key=${tick} class="chart-tick small mono" x=${x(tick)} y=${bottom + 16} text-anchor="middle">${tick}</text>`,
    )}
    <path class="roofline-roof" d=${path} />
    ${facts.points.map((point) => html`<${Point} key=${point.phase} ...${point} x=${x(point.x)} y=${y(point.y)} right=${right} />`)}
  </svg>`;
}

/** A phase: decode as a disc with its name below, prefill as a diamond with its name above. */
function Point({ phase, disturbed, x, y, right }) {
  const isPrefill = phase === "prefill";
  const name = isPrefill ? msg`prefill` : msg`decode`;
  const anchor = x > (LEFT_PX + right) / 2 ? "end" : "start";
  const shape = isPrefill
    ? html`<path d=${`M${x},${y - POINT_PX - 1}L${x + POINT_PX + 1},${y}L${x},${y + POINT_PX + 1}L${x - POINT_PX - 1},${y}Z`} />`
    : html`<circle cx=${x} cy=${y} r=${POINT_PX} />`;
  return html`<g class=${`roofline-point ${disturbed ? "is-disturbed" : ""}`}>
    ${shape}
    <text class="strong small" x=${x} y=${isPrefill ? y - 12 : y + 20} text-anchor=${anchor}>${disturbed ? msg`${name}, disturbed` : name}</text>
  </g>`;
}

/** @returns {number[]} the powers of ten between two numbers */
function powersIn([low, high]) {
  const [first, last] = [Math.ceil(Math.log10(low)), Math.floor(Math.log10(high))];
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, at) => 10 ** (first + at));
}
