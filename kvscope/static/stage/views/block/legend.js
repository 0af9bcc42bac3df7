/** The meaning of the colours, and the positions that are not drawn. */

import { html } from "htm/preact";
import { gradient } from "../../../shared/draw/theme.js";
import { integer, percent } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { columnCount } from "./draw/columns.js";
import { weightOutside } from "./scene.js";

export function BlockLegend({ scene, waiting, geometry, theme, onMove }) {
  return html`<div class="row wide muted small">
    <span class="block-key"><i class="block-bar" style=${`background:${gradient(theme.signed.css)}`}></i>
      ${msg`− value +, with one scale per tensor`}</span>
    <span class="block-key"><i class="block-bar" style=${`background:${gradient(theme.attentionNow.css)}`}></i>
      ${msg`attention weight 0 to 1 (color by its square root)`}</span>
    <span class="nowrap"><i class="swatch is-hollow is-weights"></i>${msg`learned weights`}</span>
    <span role="status">${helpText(scene, waiting)}</span>
    <${Window} scene=${scene} columns=${geometry.columns} onMove=${onMove} />
  </div>`;
}

function helpText({ exact }, waiting) {
  if (exact) return msg`Point at a cell to see its value and how it was computed.`;
  return waiting
    ? msg`Dashed: the model is computing these values.`
    : msg`Dashed: values that are not available. Point at an attention weight to see it.`;
}

function span([from, to]) {
  return from === to ? integer(from) : `${integer(from)}–${integer(to)}`;
}

/** `first`: the first position that the row reads. */
function shownText(columns, first) {
  const [positions, shown, all] = [
    columns.runs.map(span).join(", "),
    columnCount(columns),
    integer(columns.count - first),
  ];
  return plural(
    shown,
    form`Positions ${positions}: ${integer(shown)} token of ${all}.`,
    form`Positions ${positions}: ${integer(shown)} tokens of ${all}.`,
  );
}

function Window({ scene, columns, onMove }) {
  const { window, runs, count } = columns;
  if (!window) return null;
  const share = percent(weightOutside(scene, runs));
  const [first, last] = window;
  const size = last - first + 1;
  const middle = first + Math.floor(size / 2);
  const earlier = () => onMove(Math.max(scene.first, middle - size));
  const later = () => onMove(Math.min(count - 1, middle + size));
  return html`<span class="block-window">
    <button class="button small" type="button" disabled=${first === scene.first} onClick=${earlier}>◀ ${msg`earlier`}</button>
    ${` ${shownText(columns, scene.first)} ${msg`All others together have at most ${share} of a head’s weight.`} `}
    <button class="button small" type="button" disabled=${last === count - 1} onClick=${later}>${msg`later`} ▶</button>
  </span>`;
}
