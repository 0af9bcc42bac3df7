/**
 * Positions in the lens, in CSS pixels of the map, and the cell under a point. Pure.
 *
 * The lens is a card over some rows of the map. Its columns and its cached cells have the same x as on the map, but
 * are taller; each head has a lane for its weights, each KV head one for its keys and one for its values.
 */

import { cellsAt } from "../draw/pixels.js";
import { columnOf, hitStrip, rowOf } from "./geometry.js";

const HEAD_LINE_PX = 12;
const LEAST_INNER_PX = 84;
const MOST_INNER_PX = 118;
/** Height of the titles of a large and of a small card. */
const TITLES_PX = { roomy: 30, compact: 25 };
const FOOT_PX = { roomy: 12, compact: 9 };
/** Largest share of the map's height, so that layers above and below stay visible. */
const MOST_SHARE = 0.48;
const EDGE_PX = 3;
/** Where the dots of Q are, and where the weights end, as shares of the attention group's width. */
const DOTS = 0.14;
const WEIGHTS_FROM = 0.2;
const WEIGHTS_TO = 0.5;
/** Where the column is read, and where the outputs of attention and MLP are added, as shares of the height inside. */
const TAP = 0.64;
const BACK = 0.3;
const MLP = 0.12;
/** Space for the lines between K and V of a KV head, as a share. */
const THREADS_SHARE = 0.16;
const LANES_GAP_SHARE = 0.12;

/**
 * @param {Object} geometry from mapGeometry
 * @param {{positions: number}} view
 * @param {number} layer
 */
export function lensGeometry(geometry, view, layer) {
  const { residual, attention, cache, heads, kvHeads, top, bottom, compact } = geometry;
  const size = compact ? "compact" : "roomy";
  const [titles, foot] = [TITLES_PX[size], FOOT_PX[size]];
  const room = (bottom - top) * MOST_SHARE - titles - foot;
  const wanted = Math.max(LEAST_INNER_PX, Math.min(MOST_INNER_PX, heads * HEAD_LINE_PX));
  const inner = Math.round(Math.max(40, Math.min(room, wanted)));
  const height = titles + inner + foot;
  const row = rowOf(geometry, layer);
  const centred = (row.y0 + row.y1 - height) / 2;
  const y0 = Math.round(Math.min(Math.max(centred, top - EDGE_PX), bottom + EDGE_PX - height));
  const inside = { y0: y0 + titles, y1: y0 + titles + inner };
  const wide = attention.x1 - attention.x0;
  const at = (share) => inside.y0 + share * inner;
  const newest = columnOf(geometry, "residual", view.positions - 1);
  const headPitch = inner / heads;
  const kvPitch = inner / kvHeads;
  const laneHeight = (kvPitch * (1 - THREADS_SHARE - LANES_GAP_SHARE)) / 2;
  const laneOf = (kvHead, kind) => {
    const first = inside.y0 + kvHead * kvPitch + (kvPitch * LANES_GAP_SHARE) / 2;
    const start = kind === "K" ? first : first + laneHeight + kvPitch * THREADS_SHARE;
    return { y0: start, y1: start + laneHeight };
  };
  return {
    layer,
    compact,
    card: { x0: EDGE_PX, x1: geometry.width - 1, y0, y1: y0 + height },
    row,
    inside,
    column: { x0: newest.x0, x1: newest.x1 },
    tick: (residual.x1 + attention.x0) / 2,
    tap: at(TAP),
    back: at(BACK),
    mlp: at(MLP),
    over: inside.y0 - 6,
    under: inside.y1 + foot / 2,
    dots: { x: attention.x0 + DOTS * wide, r: Math.max(1.5, Math.min(4, headPitch * 0.36)) },
    weights: { x0: attention.x0 + WEIGHTS_FROM * wide, x1: attention.x0 + WEIGHTS_TO * wide },
    headPitch,
    kvPitch,
    shelf: cache,
    stripOf: (head) => ({
      x0: attention.x0 + WEIGHTS_FROM * wide,
      x1: attention.x0 + WEIGHTS_TO * wide,
      y0: inside.y0 + head * headPitch,
      y1: inside.y0 + (head + 1) * headPitch - (headPitch >= 6 ? 2 : headPitch >= 3 ? 1 : 0),
    }),
    laneOf,
    /** @returns {number} y between the K and the V of a KV head */
    between: (kvHead) => (laneOf(kvHead, "K").y1 + laneOf(kvHead, "V").y0) / 2,
  };
}

/** @returns {number} half way down a head's line */
export function middleOf({ y0, y1 }) {
  return (y0 + y1) / 2;
}

/** @returns {boolean} whether a point is on the card, which covers the map */
export function isInLens({ card }, x, y) {
  return x >= card.x0 && x < card.x1 && y >= card.y0 && y < card.y1;
}

/** The cell under a point of the lens, as `hitMap`. */
export function hitLens(lens, geometry, { positions, prefill }, x, y) {
  const { layer, inside, weights, shelf } = lens;
  if (y < inside.y0 || y >= inside.y1) return null;
  const { residual, columns, heads, kvHeads } = geometry;
  const column = cellsAt(x, residual.x0, residual.x1, columns, positions);
  if (column) return { group: "residual", layer, positions: column };
  if (x >= weights.x0 && x < weights.x1) {
    const head = Math.min(heads - 1, Math.floor((y - inside.y0) / lens.headPitch));
    return hitStrip({ positions, prefill }, { layer, head }, lens.stripOf(head), x, y);
  }
  const cells = cellsAt(x, shelf.x0, shelf.x1, columns, positions);
  if (!cells) return null;
  const kvHead = Math.min(kvHeads - 1, Math.floor((y - inside.y0) / lens.kvPitch));
  const kind = y < lens.between(kvHead) ? "K" : "V";
  return { group: "cache", layer, kind, kvHead, positions: cells };
}
