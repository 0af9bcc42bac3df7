/** Geometry of the attention half of a block on a wide screen: boxes, ribbons and labels. Pure. */

import { across, along, attentionBoxes, bent, kvName } from "./boxes.js";

/** CSS pixels. */
export const TILE = 72;
export const RAIL_Y = 22;
export const STREAM = { y0: 30, y1: 52 };
export const TOP_OF_HALVES = 138;
export const STRIP = { columns: 16, width: 48 };
export const HEIGHTS = { read: 30, append: 34, captions: 20 };
export const HEAD_NAME = 24;
export const BETWEEN_LANES = 28;
export const TOP_KEY = 94;
export const OUT_PROJECTION = 80;
export const BEFORE_MLP = 30;

const box = (x, y, size = TILE) => ({ x, y, width: size, height: size });
const middle = (from, to) => (from + to) / 2;

export function attentionHalf({ dims, columns, own: ownColumn, x, y }) {
  const { heads, kvHeads, rotary, headNorms, postNorms } = dims;
  const headRows = Array.from({ length: heads }, (_, head) => head);
  const kvRows = Array.from({ length: kvHeads }, (_, kvHead) => kvHead);
  const kx = [0, TILE + 24];
  const { own } = y;
  const strips = (left, top) => (kvHead) => ({
    x: left,
    y: top + kvHead * own.pitch,
    width: TILE,
    height: own.strip,
    columns: 32,
  });
  const perHead = (left) => (head) => ({ x: left, y: y.headTop(head), height: y.strip, ...STRIP });
  const perKey = (left) => (head) => ({ x: left, y: y.headTop(head), width: columns.width, height: y.strip });
  const perPosition = (left) => (kvHead) => ({
    x: left,
    y: y.cacheRow(kvHead),
    width: columns.width,
    height: y.cacheHeight,
    pitch: columns.pitch,
  });
  const boxes = attentionBoxes(dims, {
    resid_in: box(0, RAIL_Y),
    "attn.normed": box(0, TOP_OF_HALVES),
    "attn.q_rot": perHead(x.q),
    "attn.k": strips(kx[0], own.k),
    "attn.k_rot": strips(kx[0], own.rot),
    "attn.v": strips(kx[1], own.rot),
    "attn.scores": perKey(x.scores),
    "cache.k": perPosition(x.scores),
    "attn.weights": perKey(x.weights),
    "cache.v": perPosition(x.weights),
    "attn.mixed": perHead(x.mixed),
    "attn.change": box(x.change, TOP_OF_HALVES),
  });
  const lanesMiddle = (left) => left + columns.width / 2;
  const top = { heads: TOP_OF_HALVES - 4, headsEnd: y.headsBottom };
  return {
    boxes,
    ribbons: attentionRibbons({ columns, ownColumn, x, y, kx, rotary }),
    names: kvRows.map((kvHead) => ({
      ...kvName(kvHead),
      x: x.scores - 6,
      y: y.cacheRow(kvHead) + y.cacheHeight / 2 + 4,
    })),
    plus: { x: x.mlp - BEFORE_MLP / 2, y: middle(STREAM.y0, STREAM.y1) },
    heads: headRows.map((head) => ({
      head,
      name: { x: x.names, y: y.headTop(head), width: HEAD_NAME - 2, height: y.strip },
      topKey: { x: x.topKey + 4, y: y.headTop(head), width: TOP_KEY - 8, height: y.strip },
    })),
    captions: {
      attention: { x: 0, y: 12, anchor: "start" },
      stream: { x: middle(TILE, x.mlp - BEFORE_MLP), y: 45, anchor: "middle" },
      resid_in: { x: TILE + 10, y: RAIL_Y + 48, anchor: "start" },
      "attn.normed": { x: 0, y: TOP_OF_HALVES + TILE + 14, anchor: "start" },
      "attn.q_rot": { x: x.q + STRIP.width / 2 - 8, y: 96, anchor: "middle" },
      "attn.scores": { x: lanesMiddle(x.scores), y: 70, anchor: "middle" },
      "attn.weights": { x: lanesMiddle(x.weights), y: 70, anchor: "middle" },
      "attn.mixed": { x: x.mixed + STRIP.width + 2, y: 92, anchor: "end" },
      "attn.change": { x: x.change + TILE / 2, y: TOP_OF_HALVES + TILE + 14, anchor: "middle" },
      "attn.k_rot": { x: kx[0] + TILE / 2, y: own.end + 14, anchor: "middle" },
      "attn.v": { x: kx[1] + TILE / 2, y: own.end + 14, anchor: "middle" },
      readK: { x: lanesMiddle(x.scores), y: y.headsBottom + 19, anchor: "middle" },
      readV: { x: lanesMiddle(x.weights), y: y.headsBottom + 19, anchor: "middle" },
      cache: { x: TILE, y: y.append + HEIGHTS.append + 12, anchor: "start" },
      append: { x: middle(kx[1] + TILE, x.scores), y: y.append + 14, anchor: "middle" },
    },
    chips: {
      norm1: { x: TILE / 2, y: 116 },
      wq: { x: TILE + 38, y: TOP_OF_HALVES + 26 },
      normQ: { x: TILE + 38, y: TOP_OF_HALVES + 55 },
      ropeQ: { x: TILE + 38, y: TOP_OF_HALVES + (headNorms ? 84 : 66) },
      wk: { x: TILE / 2, y: own.k - (headNorms ? 46 : 24) },
      normK: { x: TILE / 2, y: own.k - 15 },
      ropeK: { x: TILE / 2, y: middle(own.kEnd, own.rot) },
      wv: { x: kx[1] + TILE / 2, y: own.rot - 30 },
      softmax: { x: x.weights - BETWEEN_LANES / 2 - 1, y: middle(top.heads, top.headsEnd) },
      wo: { x: x.mixed + STRIP.width + OUT_PROJECTION / 2, y: TOP_OF_HALVES + (postNorms ? 26 : 36) },
      postNorm1: { x: x.mixed + STRIP.width + OUT_PROJECTION / 2, y: TOP_OF_HALVES + 56 },
    },
  };
}

function attentionRibbons({ columns, ownColumn, x, y, kx, rotary }) {
  const heads = { y0: TOP_OF_HALVES, y1: y.headsBottom - y.pitch + y.strip };
  const normed = { y0: TOP_OF_HALVES, y1: TOP_OF_HALVES + TILE };
  const written = (left) => left + middle(ownColumn.x0, ownColumn.x1);
  const plus = x.mlp - BEFORE_MLP / 2;
  const { own } = y;
  const appendK = y.append + 10;
  const appendV = y.append + 24;
  const fills = [
    { tone: "computed", path: `M${TILE} ${STREAM.y0} H${x.mlp} V${STREAM.y1} H${TILE} Z` },
    { tone: "computed", path: along({ y: RAIL_Y + TILE, x0: 20, x1: 52 }, { y: TOP_OF_HALVES, x0: 12, x1: 60 }) },
    { tone: "computed", path: across({ x: TILE, ...normed }, { x: x.q, ...heads }) },
    { tone: "computed", path: across({ x: x.mixed + STRIP.width, ...heads }, { x: x.change, ...normed }) },
    {
      tone: "computed",
      path: along({ y: normed.y1, x0: 12, x1: 60 }, { y: rotary ? own.k : own.rot, x0: 12, x1: 60 }),
    },
    ...(rotary
      ? [{ tone: "computed", path: along({ y: own.kEnd, x0: 22, x1: 50 }, { y: own.rot, x0: 22, x1: 50 }) }]
      : []),
    {
      tone: "computed",
      path: along({ y: normed.y1, x0: 60, x1: TILE }, { y: own.rot, x0: kx[1] + 20, x1: kx[1] + 52 }),
    },
    {
      tone: "computed",
      path: along(
        { y: TOP_OF_HALVES, x0: x.change + 12, x1: x.change + 60 },
        { y: STREAM.y1, x0: plus - 5, x1: plus + 5 },
      ),
    },
    {
      tone: "cached",
      path: along(
        { y: y.cacheTop, x0: x.scores, x1: x.scores + columns.width },
        { y: y.headsBottom - 2, x0: x.scores, x1: x.scores + columns.width },
      ),
    },
    {
      tone: "cached",
      path: along(
        { y: y.cacheTop, x0: x.weights, x1: x.weights + columns.width },
        { y: y.headsBottom - 2, x0: x.weights, x1: x.weights + columns.width },
      ),
    },
  ];
  const band = (points) => ({ tone: "computed", path: bent(points, 10), band: 10 });
  return [
    ...fills,
    band([
      [kx[0] + 36, own.end],
      [kx[0] + 36, appendK],
      [written(x.scores), appendK],
      [written(x.scores), y.cacheBottom - 2],
    ]),
    band([
      [kx[1] + 36, own.end],
      [kx[1] + 36, appendV],
      [written(x.weights), appendV],
      [written(x.weights), y.cacheBottom - 2],
    ]),
  ];
}
