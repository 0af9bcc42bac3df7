/** Parts of the model as cells, a row for each layer, the first at the bottom: one is selected with the arrow keys or a press. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";

const ROOM = { across: 234, down: 480 };
const CELL = { widest: 72, least: 5, highest: 12, gap: 2 };
const LABEL = 34;
const UNDER = 20;
const MOVES = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [1, 0], ArrowDown: [-1, 0] };

/** @returns {Object} where cells are, in the units of the drawing */
export function gridOf(layers, columns, across = ROOM.across) {
  const width = Math.min(CELL.widest, across / columns);
  const height = Math.min(CELL.highest, Math.max(CELL.least, ROOM.down / layers)) + CELL.gap;
  return {
    width,
    height,
    right: LABEL + columns * width,
    bottom: layers * height,
    x: (column) => LABEL + column * width,
    y: (layer) => (layers - 1 - layer) * height,
  };
}

/**
 * `across`: the widest that all cells are together
 *
 * @param {{layers: number, columns: number, name: string, headings: string[], colour: (at: number) => string|null, title: (at: number) => string,
 *   selected: number|null, marked: number[], onSelect: (at: number) => void, callouts: {at: number, text: string, row: number}[], across?: number}} props cells count layer by
 *   layer; `colour` null: not known yet; `row` of a callout: where its text stands, in rows from the top
 */
export function Grid({
  layers,
  columns,
  name,
  headings,
  colour,
  title,
  selected,
  marked = [],
  onSelect,
  callouts = [],
  across = undefined,
}) {
  const ref = useRef(null);
  const grid = gridOf(layers, columns, across);
  const every = Math.ceil(5 / Math.max(1, Math.floor(grid.height / 12)));
  const beside = callouts.length ? 160 : 4;
  const move = (event) => {
    const by = MOVES[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    const [layer, column] = [Math.floor((selected ?? 0) / columns) + by[0], ((selected ?? 0) % columns) + by[1]];
    event.preventDefault();
    event.stopPropagation();
    if (layer < 0 || layer >= layers || column < 0 || column >= columns) return;
    onSelect(layer * columns + column);
    requestAnimationFrame(() => ref.current?.querySelector("[tabindex='0']")?.focus());
  };
  const cell = (at) => {
    const [layer, column] = [Math.floor(at / columns), at % columns];
    const filled = colour(at);
    return html`<rect
      key=${at} class="effect-cell" role="button" tabindex=${at === (selected ?? 0) ? 0 : -1} aria-label=${title(at)} aria-pressed=${at === selected}
      x=${grid.x(column)} y=${grid.y(layer)} width=${grid.width - CELL.gap} height=${grid.height - CELL.gap} rx="2"
      fill=${filled ?? "var(--panel)"} stroke=${filled ? "none" : "var(--line)"}
      onClick=${() => onSelect(at)} onKeyDown=${(event) => event.key === "Enter" && onSelect(at)}
    ><title>${title(at)}</title></rect>`;
  };
  const ring = (at) => html`<rect
    class="effect-ring" x=${grid.x(at % columns) - 1} y=${grid.y(Math.floor(at / columns)) - 1}
    width=${grid.width - CELL.gap + 2} height=${grid.height - CELL.gap + 2} rx="3"
  />`;
  return html`<svg
    class="effect-grid" ref=${ref} role="group" aria-label=${name} viewBox=${`0 -2 ${grid.right + beside} ${grid.bottom + UNDER + 2}`}
    width=${grid.right + beside} onKeyDown=${move}
  >
    ${Array.from({ length: layers * columns }, (_, at) => cell(at))}
    ${[...new Set([...marked, ...(selected === null ? [] : [selected])])].map(ring)}
    ${callouts.map(({ at, text, row }) => html`<${Callout} key=${at} grid=${grid} columns=${columns} at=${at} text=${text} row=${row} />`)}
    <g class="effect-labels" aria-hidden="true">
      ${Array.from({ length: layers }, (_, layer) => layer)
        .filter((layer) => layer % every === 0 || layer === layers - 1)
        .filter((layer) => layer === layers - 1 || layers - 1 - layer >= every / 2)
        .map(
          (layer) =>
            html`<text x=${LABEL - 6} y=${grid.y(layer) + grid.height / 2 + 3} text-anchor="end">L${layer}</text>`,
        )}
      ${headings.map((heading, column) => html`<text x=${grid.x(column) + (grid.width - CELL.gap) / 2} y=${grid.bottom + 14} text-anchor="middle">${heading}</text>`)}
    </g>
  </svg>`;
}

function Callout({ grid, columns, at, text, row }) {
  const from = { x: grid.x(at % columns) + grid.width, y: grid.y(Math.floor(at / columns)) + grid.height / 2 - 1 };
  const to = { x: grid.right + 8, y: row * grid.height + grid.height / 2 };
  return html`<g class="effect-callout" aria-hidden="true">
    <path d=${`M${from.x} ${from.y} L${grid.right} ${from.y} L${to.x} ${to.y}`} />
    <text x=${to.x + 4} y=${to.y + 4}>${text}</text>
  </g>`;
}
