/** Token labels, the line between prefill and decode, and marks of the attention matrix. SVG over the canvas. */

import { html } from "htm/preact";
import { labelled } from "../../draw/labels.js";
import { counted, tokenLabel } from "../../facts/format.js";
import { keyBox, queryBox } from "./matrix-geometry.js";

const LEAST_ROW_PX = 11;
const LEAST_COLUMN_PX = 12;
const TILT_DEGREES = -58;
/** Width of a character of a note, to leave out a note that has no room. */
const NOTE_CHARACTER_PX = 5.4;

export function MatrixLabels({ geometry, run, focus, hover }) {
  const marked = { query: hover?.query ?? focus.query, key: hover?.key ?? focus.key };
  return html`<svg class="matrix-labels" width=${geometry.width} height=${geometry.height} aria-hidden="true">
    <${Queries} geometry=${geometry} run=${run} marked=${marked.query} chosen=${focus.query} />
    <${Keys} geometry=${geometry} run=${run} marked=${marked.key} chosen=${focus.key} />
    ${
      geometry.lineY !== null &&
      html`<line
      class="matrix-line" x1=${Math.max(0, geometry.left - 66)} x2=${geometry.right} y1=${geometry.lineY}
      y2=${geometry.lineY}
    />`
    }
    <${Notes} geometry=${geometry} run=${run} />
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

function Queries({ geometry, run, marked, chosen }) {
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
    const kind = !named ? "is-position" : newest ? "is-computed" : query < run.promptLength ? "is-cached" : "is-output";
    return html`<text
      class=${`map-token matrix-query ${kind} ${query === marked || newest ? "is-marked" : ""}`}
      x=${geometry.left - 7} y=${(y0 + y1) / 2 + 3.5}
    >${named ? tokenLabel(run.tokens[query], 10) : query}</text>`;
  });
}

function Keys({ geometry, run, marked, chosen }) {
  const [first, last] = geometry.keys;
  const columns = labelled({
    first,
    count: last - first + 1,
    pitch: geometry.cell,
    leastPx: LEAST_COLUMN_PX,
    always: [chosen, marked],
  });
  return columns.map(({ position: key, named }) => {
    const { x0, x1 } = keyBox(geometry, key);
    return html`<text
      class=${`map-token matrix-key ${named ? "" : "is-position"} ${key === marked ? "is-marked" : ""}`}
      transform=${`translate(${(x0 + x1) / 2 + 3} ${geometry.top - 5}) rotate(${TILT_DEGREES})`}
    >${named ? tokenLabel(run.tokens[key], 9) : key}</text>`;
  });
}

function Notes({ geometry, run }) {
  const { top, bottom, lineY, decode, right, queries, newest } = geometry;
  const notes = [];
  const splitAt = decode ? lineY : bottom;
  if (queries[0] < run.promptLength) notes.push([`prefill: ${counted(run.promptLength, "row")} at once`, top, splitAt]);
  if (decode) notes.push([newest > run.promptLength ? "decode: one row a step" : "decode", splitAt, bottom]);
  return notes.map(([text, from, to]) => {
    if (to - from < text.length * NOTE_CHARACTER_PX) return null;
    return html`<text
      class="matrix-note" transform=${`translate(${right + 14} ${(from + to) / 2}) rotate(-90)`}
    >${text}</text>`;
  });
}

/** The row being read, as a light band. */
function Crosshair({ geometry, query }) {
  const box = queryBox(geometry, query);
  if (!box) return null;
  return html`<rect
    class="matrix-band" x=${geometry.left - 2} y=${box.y0 - 0.5} width=${geometry.right - geometry.left + 3}
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
