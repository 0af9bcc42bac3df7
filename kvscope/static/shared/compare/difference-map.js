/** A map of layers and heads, coloured by a difference; layer 0 is at the bottom, as on the Stage. */

import { html } from "htm/preact";
import { useCallback } from "preact/hooks";
import { shade } from "../draw/scales.js";
import { Surface } from "../ui/surface.js";
import { pointInside, useRatio } from "../ui/use-size.js";
import { useTheme } from "../ui/use-theme.js";
import { form, plural } from "../words/msg.js";

const GAP_PX = 1;
const NAMED_EVERY = 5;

/**
 * @param {Object} props
 * @param {string} props.title
 * @param {{layers: number, width: number, values: (number|null)[]}} props.map of `mapOf`; memoise it
 * @param {boolean} props.signed whether values are ln(b ÷ a) instead of shares
 * @param {number} props.most the value with the strongest colour
 * @param {{layer: number, at: number}} props.selected
 * @param {(place: {layer: number, at: number}) => void} props.onSelect
 * @param {string} props.says the selected cell in words
 * @param {{row: number, cell: number}} props.size of a cell, in CSS pixels
 * @param {boolean} props.labels whether layers have numbers on the left
 */
export function DifferenceMap({ title, map, signed, most, selected, onSelect, says, size, labels }) {
  const theme = useTheme();
  const ratio = useRatio();
  const { layers, width, values } = map;
  const [wide, high] = [width * size.cell, layers * size.row];
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, wide, high);
      values.forEach((value, i) => {
        const [layer, at] = [Math.floor(i / width), i % width];
        const box = [at * size.cell, (layers - 1 - layer) * size.row, size.cell - GAP_PX, size.row - GAP_PX];
        context.fillStyle = value === null ? theme.line : colourOf(theme, value, signed, most);
        context.fillRect(...box);
      });
    },
    [map, theme, signed, most, wide, high, size.cell, size.row],
  );
  const within = (value, count) => Math.min(Math.max(value, 0), count - 1);
  const onClick = (event) => {
    const { x, y } = pointInside(event);
    onSelect({
      layer: layers - 1 - within(Math.floor(y / size.row), layers),
      at: within(Math.floor(x / size.cell), width),
    });
  };
  const onKeyDown = (event) => {
    const move = { ArrowUp: [1, 0], ArrowDown: [-1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (!move) return;
    event.preventDefault();
    event.stopPropagation();
    onSelect({ layer: within(selected.layer + move[0], layers), at: within(selected.at + move[1], width) });
  };
  const count = layers * width;
  const mark = `left:${selected.at * size.cell}px;top:${(layers - 1 - selected.layer) * size.row}px;width:${size.cell - GAP_PX}px;height:${size.row - GAP_PX}px`;
  return html`<figure class=${`compare-map ${labels ? "has-labels" : ""}`}>
    <figcaption class="small nowrap">${title}</figcaption>
    <div
      class="anchor" role="group" tabindex="0" style=${`width:${wide}px;height:${high}px`} onClick=${onClick} onKeyDown=${onKeyDown}
      aria-label=${plural(count, form`${title}: ${count} cell. ${says}`, form`${title}: ${count} cells; arrow keys select one. ${says}`)}
    >
      <${Surface} width=${wide} height=${high} ratio=${ratio} draw=${draw} />
      <i class="compare-mark untouched" style=${mark}></i>
      ${labels && layersNamed(layers).map((layer) => html`<span key=${layer} class="compare-layer untouched" style=${`top:${(layers - 1 - layer) * size.row}px;line-height:${size.row}px`}>L${layer}</span>`)}
      ${headsNamed(width).map((at) => html`<span key=${at} class="compare-head untouched" style=${`left:${at * size.cell}px;width:${size.cell}px`}>${at}</span>`)}
    </div>
  </figure>`;
}

/** @returns {number[]} layers whose rows have a number beside them */
function layersNamed(layers) {
  return Array.from({ length: layers }, (_, layer) => layer).filter((layer) => layer % NAMED_EVERY === 0);
}

/** @returns {number[]} heads whose columns have a number below them, where it fits; none for a single column */
function headsNamed(width) {
  const every = width > 10 ? 2 : 1;
  return width < 2 ? [] : Array.from({ length: width }, (_, at) => at).filter((at) => at % every === 0);
}

function colourOf(theme, value, signed, most) {
  const share = Math.min(1, Math.abs(value) / most);
  if (!signed) return theme.attentionNow.css[shade(share)];
  return theme.signed.css[shade(0.5 + (Math.sign(value) * share) / 2)];
}
