/** Token labels, the line between prefill and decode, and marks of the attention matrix. SVG over the canvas. */

import { html } from "htm/preact";
import { tokenLabel } from "../../../shared/facts/format.js";
import { labelled } from "../../draw/labels.js";
import { keyBox, queryBox, topOfKey } from "./matrix-geometry.js";

const LEAST_ROW_PX = 14;
/** On the diagonal, neighbouring labels are further apart than their columns. */
const LEAST_COLUMN_PX = 11;
const LEAST_BESIDE_PX = 19;
const TILT_DEGREES = -45;
const QUERY_CHARS = 10;
export const KEY_CHARS = 9;

export function MatrixLabels({ geometry, run, focus, hover, inherited }) {
  const newest = inherited ? null : geometry.newest;
  const marked = { query: hover?.query ?? focus.query, key: hover?.key ?? focus.key };
  return html`<svg class="matrix-labels over untouched" width=${geometry.width} height=${geometry.height} aria-hidden="true">
    <${Queries} geometry=${geometry} run=${run} computed=${newest} marked=${marked.query} chosen=${focus.query} />
    <${Keys} geometry=${geometry} run=${run} computed=${newest} marked=${marked.key} chosen=${focus.key} />
    ${
      geometry.lineY !== null &&
      html`<line
      class="matrix-line" x1=${Math.max(0, geometry.left - 72)} x2=${geometry.right} y1=${geometry.lineY}
      y2=${geometry.lineY}
    />`
    }
    ${!inherited && html`<${Newest} geometry=${geometry} />`}
    ${
      focus.key !== null &&
      html`<${Crosshair} geometry=${geometry} query=${marked.query} />
      <${Mark} geometry=${geometry} query=${focus.query} cell=${focus.key} kind="is-selected" />`
    }
    ${
      hover?.key !== undefined &&
      hover.query !== undefined &&
      html`<${Mark}
      geometry=${geometry} query=${hover.query} cell=${hover.key} kind="is-hovered"
    />`
    }
  </svg>`;
}

function Queries({ geometry, run, computed, marked, chosen }) {
  const [first, last] = geometry.queries;
  const rows = labelled({
    first,
    count: last - first + 1,
    pitch: geometry.cell,
    leastPx: LEAST_ROW_PX,
    always: [chosen, marked],
  });
  const newestRow = geometry.decode ? [{ position: geometry.newest, named: true }] : [];
  return [...rows, ...newestRow].map(({ position: query, named }) => {
    const { y0, y1 } = queryBox(geometry, query);
    const newest = geometry.decode && query === geometry.newest;
    return html`<text
      class=${`map-token small mono matrix-query ${kindOf(run, geometry, query, named, computed)} ${query === marked || newest ? "is-marked" : ""}`}
      x=${geometry.left - 7} y=${(y0 + y1) / 2 + 4}
    >${named ? tokenLabel(run.tokens[query], QUERY_CHARS) : query}</text>`;
  });
}

function Keys({ geometry, run, computed, marked, chosen }) {
  const [first, last] = geometry.keys;
  const onDiagonal = first === 0 && geometry.queries[0] === 0;
  const columns = labelled({
    first,
    count: last - first + 1,
    pitch: geometry.cell,
    leastPx: onDiagonal ? LEAST_COLUMN_PX : LEAST_BESIDE_PX,
    always: [chosen, marked],
  });
  return columns.map(({ position: key, named }) => {
    const { x0, x1 } = keyBox(geometry, key);
    return html`<text
      class=${`map-token small mono matrix-key ${kindOf(run, geometry, key, named, computed)} ${key === marked ? "is-marked" : ""}`}
      transform=${`translate(${(x0 + x1) / 2 + 4} ${topOfKey(geometry, key) - 4}) rotate(${TILT_DEGREES})`}
    >${named ? tokenLabel(run.tokens[key], KEY_CHARS) : key}</text>`;
  });
}

/** A frame around the newest row of a decode step. In prefill all rows are new, which the colour of their cells shows. */
function Newest({ geometry }) {
  if (!geometry.decode) return null;
  const { y0, y1 } = queryBox(geometry, geometry.newest);
  return html`<rect
    class="matrix-newest" x=${geometry.left - 3} y=${y0 - 3} width=${geometry.right - geometry.left + 5} height=${y1 - y0 + 5} rx="5"
  />`;
}

/** @returns {string} the class of a token's label, by the origin of the token; `computed`: the position of the row that this step computed */
function kindOf(run, geometry, position, named, computed) {
  if (!named) return "is-position";
  if (geometry.decode && position === computed) return "is-computed";
  return position < run.promptLength ? "is-cached" : "is-output";
}

/** A light band over the marked row, up to its last key; the newest row has a frame already. */
function Crosshair({ geometry, query }) {
  if (geometry.decode && query === geometry.newest) return null;
  const box = queryBox(geometry, query);
  if (!box) return null;
  const right = keyBox(geometry, query)?.x1 ?? geometry.right;
  return html`<rect
    class="matrix-band" x=${geometry.left - 2} y=${box.y0 - 0.5} width=${right - geometry.left + 3}
    height=${Math.max(2, box.y1 - box.y0)}
  />`;
}

const LEAST_MARK_PX = 6;

function Mark({ geometry, query, cell, kind }) {
  const [row, column] = [queryBox(geometry, query), keyBox(geometry, cell)];
  if (!row || !column) return null;
  const width = Math.max(LEAST_MARK_PX, column.x1 - column.x0);
  const height = Math.max(LEAST_MARK_PX, row.y1 - row.y0);
  return html`<rect
    class=${`map-outline ${kind}`} x=${(column.x0 + column.x1 - width) / 2 - 0.5}
    y=${(row.y0 + row.y1 - height) / 2 - 0.5} width=${width} height=${height}
  />`;
}
