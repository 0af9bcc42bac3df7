/**
 * The parts of the drawing of a block: tiles, lanes, ribbons, and the value under a point. Every layout uses them. Pure.
 *
 * A *tile* shows one vector as a grid, one cell per value. A *lane* has one column per position: a score, a weight, or in the
 * cache the K or V vector of that position.
 */

import { msg } from "../../../../shared/words/msg.js";
import { columnAt, positionAt } from "./columns.js";

/** Assigns the gap after a column to its last cell. */
const LAST_CELL = 0.999;

/** @returns {{columns: number, rows: number}} a grid of nearly square cells for `count` values in a box of this shape */
export function gridOf(count, width, height) {
  const columns = Math.max(1, Math.round(Math.sqrt((count * width) / height)));
  return { columns, rows: Math.ceil(count / columns) };
}

/**
 * Returns the box of one vector, drawn as a grid.
 *
 * @param {string} tensor hook point the values are from
 * @param {number|null} part the head whose values they are; null: the tensor is one vector
 * @param {number} count how many values
 */
export function tile(tensor, part, count, { x, y, width, height, columns = null }) {
  const grid = columns ? { columns, rows: Math.ceil(count / columns) } : gridOf(count, width, height);
  return { kind: "tile", tensor, part, count, x, y, width, height, ...grid };
}

/** Returns the box of a row of scores or weights: a cell per position. */
function lane(tensor, part, { x, y, width, height }) {
  return { kind: "lane", tensor, part, x, y, width, height };
}

/** Returns the box of K or V of one KV head in the cache: a column of `count` values per position. */
function cacheLane(tensor, part, count, { x, y, width, height, pitch }) {
  const columns = pitch >= 9 ? 4 : pitch >= 5 ? 2 : 1;
  const grid = { columns: Math.min(columns, count), rows: Math.ceil(count / Math.min(columns, count)) };
  return { kind: "cache", tensor, part, count, x, y, width, height, ...grid };
}

/**
 * Returns the boxes of attention, in the order in which the data flows.
 *
 * @param {{heads: number, kvHeads: number, headDim: number, d: number, rotary: boolean}} dims
 * @param {Object<string, any>} places by tensor: {x, y, width, height}, or a function that returns it for a head
 */
export function attentionBoxes({ heads, kvHeads, headDim, d, rotary }, places) {
  const whole = (tensor) => tile(tensor, null, d, places[tensor]);
  const perPart = (count, make) => (tensor) =>
    Array.from({ length: count }, (_, part) => make(tensor, part, places[tensor](part)));
  const tiles = (tensor, part, place) => tile(tensor, part, headDim, place);
  const [ofHeads, ofKvHeads, lanes] = [perPart(heads, tiles), perPart(kvHeads, tiles), perPart(heads, lane)];
  const cached = perPart(kvHeads, (tensor, part, place) => cacheLane(tensor, part, headDim, place));
  return [
    whole("resid_in"),
    whole("attn.normed"),
    ...ofHeads("attn.q_rot"),
    ...(rotary ? ofKvHeads("attn.k") : []),
    ...["attn.k_rot", "attn.v"].flatMap(ofKvHeads),
    ...lanes("attn.scores"),
    ...cached("cache.k"),
    ...lanes("attn.weights"),
    ...cached("cache.v"),
    ...ofHeads("attn.mixed"),
    whole("attn.change"),
  ];
}

/** Space after a column, CSS pixels. */
export function columnGap(pitch) {
  return pitch >= 9 ? 2 : pitch >= 5 ? 1 : 0;
}

/**
 * Returns the value under a point of the drawing.
 *
 * @param {{boxes: Object[], columns: Object}} geometry
 * @returns {{tensor: string, part: number|null, index: number|null, key: number|null}|null} the value under a point:
 *   `index` inside the vector (null for a lane, and for the unused end of a grid), `key` the position (null for a tile)
 */
export function hitBlock({ boxes, columns }, x, y) {
  const box = boxes.find((b) => x >= b.x && x < b.x + b.width && y >= b.y && y < b.y + b.height);
  if (!box) return null;
  const { tensor, part } = box;
  if (box.kind === "tile") {
    const index = cellOf(box, (x - box.x) / box.width, (y - box.y) / box.height);
    return index === null ? null : { tensor, part, index, key: null };
  }
  const key = positionAt(columns, x - box.x);
  if (key === null) return null;
  if (box.kind === "lane") return { tensor, part, index: null, key };
  const share = (x - box.x - columnAt(columns, key).x0) / (columns.pitch - columnGap(columns.pitch));
  return { tensor, part, index: cellOf(box, Math.min(LAST_CELL, share), (y - box.y) / box.height), key };
}

function cellOf({ columns, rows, count }, across, down) {
  const index = Math.floor(down * rows) * columns + Math.floor(across * columns);
  return index < count ? index : null;
}

/** @returns {Object|undefined} the box that shows a place */
export function boxOf({ boxes }, { tensor, part }) {
  return boxes.find((box) => box.tensor === tensor && box.part === part);
}

/** Tensors that a drawing may leave out, and the tensor that it shows instead. */
const SHOWN_AS = { "attn.q_raw": "attn.q", "attn.q": "attn.q_rot", "attn.k_raw": "attn.k", "attn.k": "attn.k_rot" };

/** @returns {{x: number, y: number, width: number, height: number}|null} around all parts of a tensor, or of the one shown instead */
export function boxAround({ boxes }, tensor) {
  const parts = boxes.filter((box) => box.tensor === tensor);
  if (parts.length === 0) return tensor in SHOWN_AS ? boxAround({ boxes }, SHOWN_AS[tensor]) : null;
  const [x, y] = ["x", "y"].map((side) => Math.min(...parts.map((box) => box[side])));
  const right = Math.max(...parts.map((box) => box.x + box.width));
  const bottom = Math.max(...parts.map((box) => box.y + box.height));
  return { x, y, width: right - x, height: bottom - y };
}

/** Space around named boxes for their labels, CSS pixels: on the left and right, above, below. */
const CUT = { side: 28, above: 82, below: 50 };

/**
 * @param {{boxes: Object[], width: number, height: number}} geometry
 * @param {string[]} tensors
 * @returns {{x: number, y: number, width: number, height: number}|null} the part of the drawing with their boxes; null if it has none
 */
export function cutTo(geometry, tensors) {
  const boxes = tensors.map((name) => boxAround(geometry, name)).filter((box) => box !== null);
  if (boxes.length === 0) return null;
  const [left, top] = ["x", "y"].map((side) => Math.min(...boxes.map((box) => box[side])));
  const x = Math.max(0, left - CUT.side);
  const y = Math.max(0, top - CUT.above);
  const right = Math.min(geometry.width, Math.max(...boxes.map((box) => box.x + box.width)) + CUT.side);
  const bottom = Math.min(geometry.height, Math.max(...boxes.map((box) => box.y + box.height)) + CUT.below);
  return { x, y, width: right - x, height: bottom - y };
}

/** Captions of several tensors, which the edge of a cut may reach while it has not all of them. */
const CAPTIONS_OF = { cache: ["cache.k", "cache.v"] };

/**
 * @param {{captions: Object<string, Object>}} geometry
 * @param {string[]|null} tensors those of a cut; null: the whole drawing
 * @returns {Object<string, Object>} the captions to show
 */
export function captionsIn({ captions }, tensors) {
  if (!tensors) return captions;
  const isShown = (name) => (CAPTIONS_OF[name] ?? []).every((tensor) => tensors.includes(tensor));
  return Object.fromEntries(Object.entries(captions).filter(([name]) => isShown(name)));
}

/** @returns {{x: number, y: number, width: number, height: number}} one value's cell in a tile */
export function cellBox({ x, y, width, height, columns, rows }, index) {
  const [w, h] = [width / columns, height / rows];
  return { x: x + (index % columns) * w, y: y + Math.floor(index / columns) * h, width: w, height: h };
}

/** A ribbon from a vertical edge to another: `from` and `to` are {x, y0, y1}. @returns {string} SVG path */
export function across(from, to) {
  const middle = (from.x + to.x) / 2;
  return (
    `M${from.x} ${from.y0} C${middle} ${from.y0} ${middle} ${to.y0} ${to.x} ${to.y0} V${to.y1} ` +
    `C${middle} ${to.y1} ${middle} ${from.y1} ${from.x} ${from.y1} Z`
  );
}

/** A ribbon from a horizontal edge to another: `from` and `to` are {y, x0, x1}. @returns {string} SVG path */
export function along(from, to) {
  const middle = (from.y + to.y) / 2;
  return (
    `M${from.x0} ${from.y} C${from.x0} ${middle} ${to.x0} ${middle} ${to.x0} ${to.y} H${to.x1} ` +
    `C${to.x1} ${middle} ${from.x1} ${middle} ${from.x1} ${from.y} Z`
  );
}

/** A band of constant width through points joined by right angles with round corners, as a stroke. @returns {string} SVG path */
export function bent(points, radius) {
  return points
    .map(([x, y], i) => {
      if (i === 0) return `M${x} ${y}`;
      if (i === points.length - 1) return `L${x} ${y}`;
      const [before, after] = [towards([x, y], points[i - 1], radius), towards([x, y], points[i + 1], radius)];
      return `L${before.join(" ")} Q${x} ${y} ${after.join(" ")}`;
    })
    .join(" ");
}

function towards([x, y], [a, b], radius) {
  const length = Math.hypot(a - x, b - y) || 1;
  const share = Math.min(0.5, radius / length);
  return [x + (a - x) * share, y + (b - y) * share];
}

/** @returns {Object[]} the tiles of whole rows, one for each row of the step */
export function wholeRows(boxes) {
  return boxes.filter(({ kind, part }) => kind === "tile" && part === null);
}

/** The label of a KV head, on the left of its lane in the cache. */
export function kvName(kvHead) {
  return { text: msg`KV ${kvHead}`, tone: "cached", anchor: "end" };
}
