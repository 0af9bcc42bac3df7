/** Drawings under the tiles of a dot product: its terms as bars, and their running sum as a line. */

import { html } from "htm/preact";
import { largestSize, signedShade } from "../../draw/tiles.js";

export const BARS_HEIGHT = 40;
export const TOTALS_HEIGHT = 24;
const EDGE = 2;

/** Bars up and down from zero, in the colours of signed tiles. */
export function TermBars({ values, order, width, theme }) {
  const [low, high] = rangeWithZero(values);
  const y = scaleTo(low, high, BARS_HEIGHT);
  const largest = largestSize(values);
  const pitch = width / order.length;
  return html`<svg class="term-bars" width=${width} height=${BARS_HEIGHT} aria-hidden="true">
    ${order.map((dimension, place) => {
      const value = values[dimension];
      const [top, bottom] = [y(Math.max(0, value)), y(Math.min(0, value))];
      return html`<rect
        key=${dimension} x=${place * pitch} y=${top} width=${Math.max(1, pitch - 1)}
        height=${Math.max(0.5, bottom - top)} fill=${theme.signed.css[signedShade(value, largest)]}
      />`;
    })}
    <line class="drawing-zero" x1="0" x2=${width} y1=${y(0)} y2=${y(0)} />
  </svg>`;
}

/** The running sum: one step per term, from zero to the dot product. */
export function TotalLine({ totals, width }) {
  const [low, high] = rangeWithZero(totals);
  const y = scaleTo(low, high, TOTALS_HEIGHT);
  const pitch = width / totals.length;
  const steps = Array.from(totals, (value, place) => `V ${y(value)} H ${(place + 1) * pitch}`).join(" ");
  return html`<svg class="total-line" width=${width} height=${TOTALS_HEIGHT} aria-hidden="true">
    <line class="drawing-zero" x1="0" x2=${width} y1=${y(0)} y2=${y(0)} />
    <path d=${`M 0 ${y(0)} ${steps}`} />
  </svg>`;
}

function rangeWithZero(values) {
  let [low, high] = [0, 0];
  for (const value of values) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  return low === high ? [0, 1] : [low, high];
}

function scaleTo(low, high, height) {
  return (value) => EDGE + ((high - value) / (high - low)) * (height - 2 * EDGE);
}
