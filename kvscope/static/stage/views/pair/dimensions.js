/** Vectors as lines of tiles, one above the other. The pointer or the arrow keys choose a dimension. */

import { html } from "htm/preact";
import { Surface } from "../../../shared/ui/surface.js";
import { pointInside } from "../../../shared/ui/use-size.js";
import { cellsAt } from "../../draw/pixels.js";
import { useTiles } from "./use-tiles.js";

/** Where each key moves the choice, as an index in `order`. */
const MOVES = {
  ArrowRight: (place) => place + 1,
  ArrowUp: (place) => place + 1,
  ArrowLeft: (place) => place - 1,
  ArrowDown: (place) => place - 1,
  PageUp: (place) => place + 8,
  PageDown: (place) => place - 8,
  Home: () => 0,
  End: (_place, last) => last,
};

/**
 * @param {Object} props
 * @param {string} props.name accessible name of the slider
 * @param {string} props.text the chosen dimension and its values, as text
 * @param {{name: Object, values: ArrayLike<number>|null}[]} props.lines equally long; null: not loaded yet
 * @param {number[]} props.order the dimensions from left to right
 * @param {number} props.chosen a dimension
 * @param {(dimension: number) => void} props.onChoose
 * @param {boolean} [props.entry] takes the keyboard focus when the view opens
 * @param {{name: Object, height: number, draw: (parts: {width: number, order: number[]}) => Object}[]} [props.below] drawings under the
 *   tiles, of the same width
 */
export function Dimensions({ name, text, lines, order, chosen, onChoose, entry = false, below = [] }) {
  const vectors = lines.map(({ values }) => values);
  const { ref, width, height, surface } = useTiles(vectors, order);
  const count = order.length;
  const place = order.indexOf(chosen);
  const onPoint = (event) => {
    const at = cellsAt(pointInside(event).x, 0, width, count, count)?.[0];
    if (at !== undefined && order[at] !== chosen) onChoose(order[at]);
  };
  const onKeyDown = (event) => {
    const move = MOVES[event.key];
    if (!move || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    onChoose(order[Math.min(Math.max(move(place, count - 1), 0), count - 1)]);
  };
  return html`<div class="dimensions">
    <div class="dimension-names still" aria-hidden="true">
      ${lines.map(({ name: of }) => html`<span>${of}</span>`)}
      ${below.map(({ name: of, height: high }) => html`<span class="is-drawing" style=${`height:${high}px`}>${of}</span>`)}
    </div>
    <div
      class="dimension-tiles anchor grow" ref=${ref} role="slider" tabindex="0" data-entry=${entry ? "" : undefined}
      aria-label=${name} aria-valuemin="1" aria-valuemax=${count} aria-valuenow=${place + 1} aria-valuetext=${text}
      onPointerDown=${onPoint} onPointerMove=${onPoint} onKeyDown=${onKeyDown}
    >
      <div class="dimension-lines" style=${`height:${height}px`}>
        ${surface && html`<${Surface} ...${surface} />`}
      </div>
      ${below.map(({ draw: drawing, height: high }) => html`<div class="dimension-drawing" style=${`height:${high}px`}>${width > 0 && drawing({ width, order })}</div>`)}
      ${
        width > 0 &&
        html`<div
        class="dimension-mark untouched" style=${`left:${(place * width) / count}px;width:${width / count}px`}
      ></div>`
      }
    </div>
  </div>`;
}

/**
 * Vectors as lines of tiles with names, one above the other, without a choice.
 *
 * @param {{name: string, lines: {name: Object, values: ArrayLike<number>}[]}} props `name`: the accessible name
 */
export function VectorLines({ name, lines }) {
  const { ref, height, surface } = useTiles(lines.map(({ values }) => values));
  return html`<div class="dimensions" role="img" aria-label=${name}>
    <div class="dimension-names still" aria-hidden="true">${lines.map(({ name: of }) => html`<span>${of}</span>`)}</div>
    <div class="anchor grow" ref=${ref} style=${`height:${height}px`}>
      ${surface && html`<${Surface} ...${surface} />`}
    </div>
  </div>`;
}
