/** Labels of the drawing of a block: names, shapes, operations and tokens. SVG over the canvas. */

import { html } from "htm/preact";
import { tokenLabel } from "../../../shared/facts/format.js";
import { isComputedIn } from "../../../shared/facts/step-rows.js";
import { msg } from "../../../shared/words/msg.js";
import { labelled } from "../../draw/labels.js";
import { captionsIn } from "./draw/boxes.js";
import { columnAt, columnGaps } from "./draw/columns.js";
import { captions, chips } from "./words.js";

const LINE_PX = 15;
const TILT_DEGREES = -66;
const LEAST_LABEL_PX = 12;
const CHIP = { line: 14, padding: 5, character: 7.2 };

/** `named`: tensors that the drawing is cut to; null: all of it is shown */
export function BlockLabels({ geometry, scene, named }) {
  const { width, height } = geometry;
  const texts = captions(scene, geometry.terse);
  const operations = chips(scene);
  return html`<svg class="block-labels" width=${width} height=${height} aria-hidden="true">
    ${Object.entries(captionsIn(geometry, named)).map(([name, at]) => html`<${Lines} ...${at} lines=${texts[name]} />`)}
    ${geometry.names.map(({ text, tone, ...at }) => html`<${Lines} ...${at} lines=${[{ text, tone }]} />`)}
    ${Object.entries(geometry.chips).map(
      ([name, at]) => operations[name] && html`<${Chip} ...${at} ...${operations[name]} />`,
    )}
    ${geometry.plus.map(({ x, y }) => html`<${Plus} x=${x} y=${y} />`)}
    ${geometry.brackets.map((bracket) => html`<${Bracket} ...${bracket} />`)}
    ${geometry.labels.map((at) => html`<${Tokens} ...${at} columns=${geometry.columns} scene=${scene} />`)}
  </svg>`;
}

function Lines({ x, y, anchor, lines }) {
  return lines.map(({ text, tone = "", tail }, line) => {
    const more = tail && html`<tspan class=${`block-text is-${tail.tone}`} dx="7">${tail.text}</tspan>`;
    return html`<text
      class=${`block-text is-${tone}`} x=${x} y=${y + line * LINE_PX} text-anchor=${anchor}
    >${text}${more}</text>`;
  });
}

function Chip({ x, y, lines, title, weights }) {
  const width = Math.max(...lines.map((line) => line.length)) * CHIP.character + 2 * CHIP.padding;
  const height = lines.length * CHIP.line + CHIP.padding;
  return html`<g class=${`block-chip ${weights ? "is-weights" : ""}`}>
    <title>${title}</title>
    <rect x=${x - width / 2} y=${y - height / 2} width=${width} height=${height} rx="4" />
    ${lines.map(
      (line, i) =>
        html`<text x=${x} y=${y - height / 2 + CHIP.line * (i + 1) - 1.5} text-anchor="middle">${line}</text>`,
    )}
  </g>`;
}

function Plus({ x, y }) {
  return html`<g class="block-plus">
    <title>${msg`The change is added to the row`}</title>
    <circle cx=${x} cy=${y} r="11" />
    <path d=${`M${x - 5} ${y} H${x + 5} M${x} ${y - 5} V${y + 5}`} />
  </g>`;
}

function Bracket({ kvHead, x, y0, y1 }) {
  return html`<path class="block-bracket" d=${`M${x} ${y0} h4 V${y1} h-4`} />
    <text
      class="block-text is-cached" text-anchor="middle"
      transform=${`translate(${x + 16} ${(y0 + y1) / 2}) rotate(-90)`}
    >${msg`KV ${kvHead}`}</text>`;
}

function distance(columns, a, b) {
  return Math.abs(columnAt(columns, a).x0 - columnAt(columns, b).x0);
}

function Tokens({ x, y, columns, scene }) {
  const { run, query } = scene;
  const pinned = [0, query].filter((position) => columnAt(columns, position));
  const away = ({ position }) =>
    pinned.every((other) => other === position || distance(columns, other, position) >= LEAST_LABEL_PX);
  const names = columns.runs
    .flatMap(([first, last]) =>
      labelled({ first, count: last - first + 1, pitch: columns.pitch, leastPx: LEAST_LABEL_PX, always: [query] }),
    )
    .filter(away);
  return html`${names.map(({ position, named }) => {
    const column = columnAt(columns, position);
    const kind = position > query ? "is-muted" : isComputedIn(run, scene.step, position) ? "is-computed" : "is-cached";
    return html`<text
        class=${`block-token small mono ${kind}`}
        transform=${`translate(${x + (column.x0 + column.x1) / 2 + 3} ${y}) rotate(${TILT_DEGREES})`}
      >${named ? tokenLabel(run.tokens[position], 8) : position}</text>`;
  })}
    ${columnGaps(columns).map(
      ({ x: at }) => html`<text class="block-text is-muted" x=${x + at} y=${y + 5} text-anchor="middle">…</text>`,
    )}`;
}
