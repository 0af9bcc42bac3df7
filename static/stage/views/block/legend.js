/** What the colours mean, and which positions are not drawn. */

import { html } from "htm/preact";
import { gradient } from "../../../shared/draw/theme.js";
import { counted, integer, percent } from "../../../shared/facts/format.js";
import { columnCount } from "./draw/columns.js";
import { weightOutside } from "./scene.js";

export function BlockLegend({ scene, waiting, geometry, theme, onMove }) {
  return html`<div class="row wide muted small">
    <span class="block-key"><i class="block-bar" style=${`background:${gradient(theme.signed.css)}`}></i>
      − value +, each tensor to its own 98th percentile</span>
    <span class="block-key"><i class="block-bar" style=${`background:${gradient(theme.attentionNow.css)}`}></i>
      weight 0 to 1 (√ scale)</span>
    <span class="nowrap"><i class="swatch is-hollow is-weights"></i>learned weights</span>
    <span role="status">${howToRead(scene, waiting)}</span>
    <${Window} scene=${scene} columns=${geometry.columns} onMove=${onMove} />
  </div>`;
}

function howToRead({ exact }, waiting) {
  if (exact) return "Point at any cell: its value and how it was made.";
  return waiting
    ? "Dashed: the model is computing these values."
    : "Dashed: values that are not here. Point at any weight.";
}

function span([from, to]) {
  return from === to ? integer(from) : `${integer(from)}–${integer(to)}`;
}

function Window({ scene, columns, onMove }) {
  const { window, runs, count } = columns;
  if (!window) return null;
  const [first, last] = window;
  const size = last - first + 1;
  const middle = first + Math.floor(size / 2);
  const earlier = () => onMove(Math.max(0, middle - size));
  const later = () => onMove(Math.min(count - 1, middle + size));
  return html`<span class="block-window">
    <button class="button small" type="button" disabled=${first === 0} onClick=${earlier}>◀ earlier</button>
    ${` Positions ${runs.map(span).join(", ")}: ${counted(columnCount(columns), "column")} of ${integer(count)}. `}
    ${`The others hold at most ${percent(weightOutside(scene, runs))} of a head's weight. `}
    <button class="button small" type="button" disabled=${last === count - 1} onClick=${later}>later ▶</button>
  </span>`;
}
