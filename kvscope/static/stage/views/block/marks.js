/** Outlines of places that belong together: a weight, the cache column of its key, the heads that read it. SVG over the labels. */

import { html } from "htm/preact";
import { kvHeadOf, readersOf } from "../../../shared/facts/attention.js";
import { boxAround, boxOf } from "./draw/boxes.js";
import { columnAt } from "./draw/columns.js";
import { cellOf } from "./use-cursor.js";

const LEAST_PX = 5;
const LIT_GAP_PX = 3;

export function BlockMarks({ geometry, scene, pointed, hover, lit }) {
  const place = pointed ?? placeOf(scene, hover);
  const related = place ? relatedTo(scene, place) : [];
  return html`<svg class="block-marks" width=${geometry.width} height=${geometry.height} aria-hidden="true">
    <${Frames} geometry=${geometry} scene=${scene} />
    ${lit.map((name) => html`<${Lit} name=${name} box=${boxAround(geometry, name)} />`)}
    ${related.map((other) => html`<${Outline} box=${outlined(geometry, other)} kind="is-related" />`)}
    ${place && html`<${Outline} box=${cellOf(geometry, place)} kind="is-pointed" />`}
  </svg>`;
}

/** Blue around columns cached before, amber around those that this step writes. */
function Frames({ geometry, scene }) {
  const { columns, frames } = geometry;
  const firstNew = scene.cachedBefore;
  const stretches = columns.runs.flatMap(([from, to]) => [
    ...(from < firstNew ? [{ from, to: Math.min(to, firstNew - 1), tone: "cached" }] : []),
    ...(to >= firstNew ? [{ from: Math.max(from, firstNew), to, tone: "computed" }] : []),
  ]);
  return frames.flatMap(({ x, y0, y1 }) =>
    stretches.map(({ from, to, tone }) => {
      const [left, right] = [columnAt(columns, from).x0, columnAt(columns, to).x1];
      return html`<rect
        class=${`block-frame is-${tone}`} x=${x + left - 1.5} y=${y0 - 2.5}
        width=${right - left + (tone === "computed" ? 2 : 0)} height=${y1 - y0 + 5} rx="2"
      />`;
    }),
  );
}

/** Returns the place in this drawing of a cell that the pointer is on elsewhere on the page. */
function placeOf({ layer, query, run }, hover) {
  if (!hover || hover.layer !== layer || !(hover.key <= query)) return null;
  if (hover.kvHead !== undefined) return { tensor: "cache.k", part: hover.kvHead, index: 0, key: hover.key };
  if (hover.head === undefined || hover.head >= run.heads || hover.query !== query) return null;
  return { tensor: "attn.weights", part: hover.head, index: null, key: hover.key };
}

function relatedTo({ run, query }, { tensor, part, key }) {
  if (key !== null && key > query) return [];
  const column = (name, kvHead) => ({ tensor: name, part: kvHead, key });
  if (tensor === "attn.scores" || tensor === "attn.weights") {
    const other = tensor === "attn.scores" ? "attn.weights" : "attn.scores";
    return [
      { tensor: other, part, key },
      { tensor: "attn.q_rot", part, key: null },
      { tensor: "attn.mixed", part, key: null },
      column("cache.k", kvHeadOf(run, part)),
      column("cache.v", kvHeadOf(run, part)),
    ];
  }
  if (tensor === "cache.k" || tensor === "cache.v") {
    const [first, last] = readersOf(run, part);
    const cells = tensor === "cache.k" ? "attn.scores" : "attn.weights";
    return Array.from({ length: last - first + 1 }, (_, i) => ({ tensor: cells, part: first + i, key }));
  }
  return [];
}

function outlined(geometry, place) {
  if (place.key !== null) return cellOf(geometry, place);
  return boxOf(geometry, place) ?? null;
}

/** `data-lit`: embed/sight.js scrolls to it. */
function Lit({ name, box }) {
  if (!box) return null;
  const size = 2 * LIT_GAP_PX;
  return html`<rect
    class="block-outline is-lit" data-lit=${name} x=${box.x - LIT_GAP_PX} y=${box.y - LIT_GAP_PX}
    width=${box.width + size} height=${box.height + size} rx="4"
  />`;
}

function Outline({ box, kind }) {
  if (!box) return null;
  const [width, height] = [Math.max(LEAST_PX, box.width), Math.max(LEAST_PX, box.height)];
  return html`<rect
    class=${`block-outline ${kind}`} x=${box.x + (box.width - width) / 2 - 0.5} y=${box.y + (box.height - height) / 2 - 0.5}
    width=${width} height=${height}
  />`;
}
