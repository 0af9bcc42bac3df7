/** One request's lane: waiting, reading its prompt, a tick for each token, how it ended. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { ownerClass } from "../owners.js";

const CHARACTER_PX = 7;
const BLOCK_PX = 20;
const TICK_PX = 18;
const BESIDE_PX = 3;
const WAIT_PX = 16;
/** Width that the name of the end needs beside its mark. */
const ROOM_PX = 76;
const NAMES = { done: msg`done`, cancelled: msg`cancelled`, refused: msg`refused` };

/** @param {{lane: import("../lanes.js").Lane, y: number, frame: Object, selected: boolean}} props */
export function Lane({ lane, y, frame, selected }) {
  const { x, high, left, right, narrow } = frame;
  const middle = y + (narrow ? high - BLOCK_PX / 2 - 6 : high / 2);
  const { outputs, end, reads } = lane;
  const first = reads[0]?.from ?? outputs[0];
  const last = outputs.at(-1) ?? reads.at(-1)?.to;
  // Tokens of one pass have the same time; side by side, each is visible.
  const beside = (ms, at) => x(ms) - BESIDE_PX * (outputs.lastIndexOf(ms) - at);
  const ticks = outputs.map((ms, at) => `M${beside(ms, at).toFixed(1)},${middle - TICK_PX / 2}v${TICK_PX}`).join("");
  return html`<g class=${`lane ${ownerClass(lane.request)} ${selected ? "is-selected" : ""}`}>
    <line class="lane-line" x1=${narrow ? 0 : left} x2=${right} y1=${y + high} y2=${y + high} />
    ${last !== undefined && html`<line class="lane-life" x1=${x(first)} x2=${x(last)} y1=${middle} y2=${middle} />`}
    ${lane.waits.map(({ from, to }) => html`<rect key=${from} class="lane-wait" x=${x(from)} y=${middle - WAIT_PX / 2} width=${Math.max(2, x(to) - x(from))} height=${WAIT_PX} rx="3" />`)}
    <path class="lane-ticks" d=${ticks} />
    ${reads.map((read) => html`<${Read} key=${read.pass} ...${read} x=${x} middle=${middle} />`)}
    ${lane.preemptions.map((ms) => html`<path key=${ms} class="lane-preemption" d=${`M${x(ms) + 4},${middle - 6}L${x(ms) - 4},${middle}L${x(ms) + 4},${middle + 6}`} />`)}
    ${end && html`<${End} end=${end} at=${x(Math.max(end.ms, last ?? 0))} middle=${middle} right=${right} />`}
  </g>`;
}

function Read({ from, to, rows, again, x, middle }) {
  const [start, width] = [x(from), Math.max(2, x(to) - x(from))];
  const label = integer(rows);
  return html`<rect class=${again ? "lane-read is-again" : "lane-read"} x=${start} y=${middle - BLOCK_PX / 2} width=${width} height=${BLOCK_PX} rx="3" />
    ${width > label.length * CHARACTER_PX + 1 && html`<text class="lane-rows" x=${start + width / 2} y=${middle} dy="0.36em">${label}</text>`}`;
}

function End({ end: { what }, at, middle, right }) {
  const inside = at + ROOM_PX < right;
  const x = Math.min(at + (inside ? 10 : 0), right - 8);
  return html`<g class=${`lane-end is-${what}`} transform=${`translate(${x},${middle})`}>
    <circle r="7" /><path d=${what === "done" ? "M-3,0L-1,2.5L3.2,-2.5" : "M-2.5,-2.5L2.5,2.5M2.5,-2.5L-2.5,2.5"} />
    ${inside && html`<text x="11" dy="0.36em">${NAMES[what]}</text>`}
  </g>`;
}
