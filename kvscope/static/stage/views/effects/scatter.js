/** Total effects of heads against their direct ones, a dot each. A press selects a head; the table beside has the same numbers. */

import { html } from "htm/preact";
import { fixed } from "../../../shared/facts/format.js";
import { msg } from "../../../shared/words/msg.js";

const BOX = { width: 300, height: 260, left: 44, right: 12, top: 14, bottom: 40 };
const NEAREST = 24;

/**
 * @param {{totals: number[], directs: number[], name: string, across: string, up: string, title: (at: number) => string, labelled: {at: number, text: string}[],
 *   kinds: (string|null)[], selected: number, onSelect: (at: number) => void}} props `across`, `up`: names of the axes; `kinds`: classes of dots
 */
export function Scatter({ totals, directs, name, across, up, title, labelled, kinds, selected, onSelect }) {
  const x = axis(directs, BOX.left, BOX.width - BOX.right);
  const y = axis(totals, BOX.height - BOX.bottom, BOX.top);
  const places = totals.map((total, at) => ({ x: x.at(directs[at]), y: y.at(total) }));
  const pick = (event) => {
    const box = event.currentTarget.getBoundingClientRect();
    const scale = BOX.width / box.width;
    const [px, py] = [(event.clientX - box.left) * scale, (event.clientY - box.top) * scale];
    const far = places.map((place) => Math.hypot(place.x - px, place.y - py));
    const nearest = far.reduce((best, each, at) => (each < far[best] ? at : best), 0);
    if (far[nearest] <= NEAREST) onSelect(nearest);
  };
  return html`<svg class="effect-scatter" role="img" aria-label=${name} viewBox=${`0 0 ${BOX.width} ${BOX.height}`} width=${BOX.width} onClick=${pick}>
    <path class="effect-axes" d=${`M${x.at(0)} ${BOX.top}V${BOX.height - BOX.bottom} M${BOX.left} ${y.at(0)}H${BOX.width - BOX.right}`} />
    ${places.map((place, at) => html`<circle key=${at} class=${`effect-dot ${kinds[at] ?? ""}`} cx=${place.x} cy=${place.y} r=${kinds[at] || at === selected ? 4 : 2.6} ><title>${title(at)}</title></circle>`)}
    <circle class="effect-ring" cx=${places[selected].x} cy=${places[selected].y} r="7" />
    ${spread(labelled, places).map(({ at, text, x: left, y: top, end }) => html`<text key=${at} x=${left} y=${top} text-anchor=${end ? "end" : "start"}>${text}</text>`)}
    <g class="effect-labels">
      <text x=${BOX.left} y=${BOX.height - BOX.bottom + 14}>${tick(x.low)}</text>
      <text x=${BOX.width - BOX.right} y=${BOX.height - BOX.bottom + 14} text-anchor="end">${tick(x.high)}</text>
      <text x=${(BOX.left + BOX.width - BOX.right) / 2} y=${BOX.height - 8} text-anchor="middle">${across}</text>
      <text x=${BOX.left - 5} y=${BOX.top + 8} text-anchor="end">${tick(y.high)}</text>
      <text x=${BOX.left - 5} y=${BOX.height - BOX.bottom} text-anchor="end">${tick(y.low)}</text>
      <text transform=${`translate(12 ${(BOX.top + BOX.height - BOX.bottom) / 2}) rotate(-90)`} text-anchor="middle">${up}</text>
    </g>
  </svg>`;
}

/** An axis with 0 on it, from the smallest to the largest number. */
function axis(values, from, to) {
  const [low, high] = [Math.min(0, ...values), Math.max(0, ...values)];
  const span = high - low || 1;
  return { low, high, at: (value) => from + ((value - low) / span) * (to - from) };
}

const tick = (value) =>
  value === 0 ? "0" : `${value < 0 ? "−" : ""}${fixed(Math.abs(value), Math.abs(value) < 1 ? 2 : 1)}`;

/** Places labels beside their dots, those further down below those above them. */
function spread(labelled, places) {
  const sorted = [...labelled].sort((a, b) => places[a.at].y - places[b.at].y);
  let free = 10;
  return sorted.map(({ at, text }) => {
    const end = places[at].x > BOX.width - 90;
    const y = Math.max(free, places[at].y + 4);
    free = y + 12;
    return { at, text, x: places[at].x + (end ? -8 : 8), y, end };
  });
}

/** @param {string} measure @returns {string} what the picture shows and does not show */
export function scatterSays(measure) {
  const two = measure === "difference";
  return [
    msg`Each axis has its own scale.`,
    two
      ? msg`Far from 0 upwards or down, near 0 across: large among total effects, small among direct ones. Perhaps it acts through later parts, the norm, or what the replacement writes.`
      : msg`Far from 0 upwards or down, near 0 across: large among total effects, small among direct ones. Perhaps it acts through later parts, other tokens’ logits, the norm, or what the replacement writes.`,
    two
      ? msg`Far across, near 0 upwards: large among direct effects, small among total ones. Perhaps others make up for it, what replaces it writes much the same, or one head with a very large total stretches the scale.`
      : msg`Far across, near 0 upwards: large among direct effects, small among total ones. Perhaps the probability is near 100 %, it raises rivals as much, others make up for it, what replaces it writes much the same, or one head with a very large total stretches the scale.`,
    two
      ? msg`The picture shows which heads rank high in one kind of effect and low in the other, not why. The table has the numbers of both, in logits.`
      : msg`The picture shows which heads rank high in one kind of effect and low in the other, not why. The two kinds have different units.`,
  ].join(" ");
}
