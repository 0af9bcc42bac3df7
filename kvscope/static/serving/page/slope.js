/** Before and after, as a line between two points. */

import { html } from "htm/preact";

const [WIDTH, HEIGHT] = [212, 52];
const [LEFT, RIGHT] = [84, 128];
const [TOP, BOTTOM] = [10, 30];
/** From a point to its label. */
const NAME_PX = 19;
/** Labels extend outwards, so that they do not overlap. */
const NAME_FROM_PX = 10;

/**
 * @param {{before: {name: string, value: number, text: string}, after: {name: string, value: number, text: string}, good: boolean|null}}
 *   props `good`: whether after is the better one; null if both are the same, or not compared
 */
export function Slope({ before, after, good }) {
  const most = Math.max(before.value, after.value) || 1;
  const y = (value) => BOTTOM - ((BOTTOM - TOP) * value) / most;
  const [y1, y2] = [y(before.value), y(after.value)];
  return html`<svg class=${`slope ${good === null ? "" : good ? "is-good" : "is-bad"}`} width=${WIDTH} height=${HEIGHT} role="img"
    aria-label=${`${before.name}: ${before.text}; ${after.name}: ${after.text}`}>
    <line x1=${LEFT} x2=${RIGHT} y1=${y1} y2=${y2} /><circle class="is-before" cx=${LEFT} cy=${y1} r="3.5" /><circle cx=${RIGHT} cy=${y2} r="3.5" />
    <text x=${LEFT - 8} y=${y1} dy="0.36em" text-anchor="end">${before.text}</text><text class="is-after" x=${RIGHT + 8} y=${y2} dy="0.36em">${after.text}</text>
    <text class="slope-name" x=${LEFT + NAME_FROM_PX} y=${y1 + NAME_PX} text-anchor="end">${before.name}</text><text class="slope-name" x=${RIGHT - NAME_FROM_PX} y=${y2 + NAME_PX}>${after.name}</text>
  </svg>`;
}
