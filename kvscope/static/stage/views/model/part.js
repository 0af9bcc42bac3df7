/** The frame of one of the six parts, and the wires between them. */

import { html } from "htm/preact";
import { bytesShort, integer } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";

/** Width of a wire for one row, and what each doubling of the rows adds, in CSS pixels. */
const WIRE_PX = 5;
const DOUBLING_PX = 4;

/**
 * @param {{number: number, name: string, place: string, names?: string, open?: {name: string, short: string, go: Function}, weights?: Object,
 *   children: Object}} props `place`: its area in the picture; `names`: of its tensors (lit.js); `open`: its zoom; `weights`: for the first line
 */
export function Part({ number, name, place, names, open = null, weights = null, children }) {
  return html`<section class="part box anchor" style=${`grid-area:${place}`} data-names=${names} aria-label=${`${number} ${name}`}>
    <header class="part-head line between">
      <h3><i class="numeral">${number}</i> ${name}</h3>
      ${weights}
      ${open && html`<button type="button" class="button small nowrap still" aria-label=${open.name} onClick=${open.go}>${open.short} ▸</button>`}
    </header>
    ${children}
  </section>`;
}

/** The number of weights of a part, and their bytes, each if it is known. */
export function Weights({ shape, parameters, size = null }) {
  if (!Number.isFinite(parameters)) return null;
  const count = integer(parameters);
  return html`<p class="chip is-weights" title=${msg`computed from the shapes of the weights`}>
    ${shape && html`<b>${shape}</b>`} <span>${size === null ? msg`${count} parameters` : msg`${count} parameters, ${bytesShort(size)}`}</span>
  </p>`;
}

/**
 * @param {{place: string, names?: string, shape: number[], rows: number, unit?: string, note?: string}} props `shape`: of the values, in
 *   `unit`; `rows`: for the width of the wire
 */
export function Wire({ place, names, shape, rows, unit = "", note = null }) {
  const width = WIRE_PX + DOUBLING_PX * Math.log2(rows);
  return html`<div class=${`wire word-computed wire-${place}`} style=${`grid-area:${place};--wire:${width.toFixed(1)}px`} data-names=${names}>
    <span><b class="shape">${shapeText(shape)}</b> ${unit}</span><i aria-hidden="true"></i>${note && html`<small>${note}</small>`}
  </div>`;
}

/** @returns {string} [1, 49152] → "[1 × 49,152]"; ? for a size that is not known */
export function shapeText(shape) {
  return `[${shape.map((size) => (size === undefined ? "?" : integer(size))).join(" × ")}]`;
}
