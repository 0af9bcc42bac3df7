/**
 * Geometry of the drawing of a block on a narrow screen, in CSS pixels: data flows downwards, and the residual stream runs along
 * the left edge. Pure.
 */

import { across, along, attentionBoxes, bent, kvName } from "./boxes.js";
import { keyColumns } from "./columns.js";
import { expertsHalf } from "./experts.js";
import { MLP_HEIGHT, mlpHalf } from "./mlp.js";

const MOST_WIDTH = 620;
const TILE = 72;
const STREAM = 12;
const LEFT = 34;
const HEAD_NAME = 34;
const TOP_KEY = 88;
const HEAD_PITCH = 26;
const HEAD_STRIP = 22;
const TOKENS_HIGH = 62;
const READ = 28;
const CACHE_PITCH = 48;
const STRIP = 14;
const STRIP_PITCH = 18;
/** Heads per line of strips: those that share a KV head, if they are few. */
const MOST_IN_LINE = 4;

/** Places both halves below each other. @param {Object} shape as for `wideGeometry`; the drawing is as high as necessary */
export function tallGeometry({ width: room, dims, keys }) {
  const width = Math.min(room, MOST_WIDTH);
  const lanes = { x: LEFT + HEAD_NAME, width: width - LEFT - HEAD_NAME - TOP_KEY };
  const columns = keyColumns({ ...keys, width: lanes.width });
  const y = rowsOf(dims);
  const attention = attentionHalf({ dims, columns, lanes, width, y });
  const mlp = (dims.experts ? expertsHalf : mlpHalf)({ dims, x: LEFT, y: y.mlp, stream: { y0: 35, y1: 35 + STREAM } });
  const rail = LEFT / 2 - STREAM / 2;
  const into = y.mlp + 35 + STREAM / 2;
  return {
    width,
    height: y.mlp + MLP_HEIGHT,
    columns,
    boxes: [...attention.boxes, ...mlp.boxes],
    ribbons: [
      {
        tone: "computed",
        band: STREAM,
        path: bent(
          [
            [rail, 94],
            [rail, into],
            [LEFT, into],
          ],
          10,
        ),
      },
      ...attention.ribbons,
      ...mlp.ribbons,
    ],
    brackets: [],
    plus: [{ x: rail, y: y.change + TILE / 2 }, mlp.plus],
    captions: { ...attention.captions, ...mlp.captions },
    chips: { ...attention.chips, ...mlp.chips },
    heads: attention.heads,
    names: attention.names,
    zone: { x: LEFT - 6, y: y.scores - 22, width: width - LEFT + 6, height: y.mixedEnd - y.scores + 30 },
    labels: [y.scoreLanes, y.weightLanes].map((top) => ({ x: lanes.x, y: top - 8 })),
    frames: [y.cacheK, y.cacheV].map((top) => ({ x: lanes.x, y0: top, y1: top + dims.kvHeads * CACHE_PITCH - 4 })),
  };
}

function linesOf({ heads, kvHeads }) {
  const group = heads / kvHeads;
  const inLine = group > 1 && group <= MOST_IN_LINE ? group : Math.min(heads, MOST_IN_LINE);
  return { inLine, lines: Math.ceil(heads / inLine) };
}

/** Tops, from the top of the drawing down. */
function rowsOf(dims) {
  const stripsHigh = linesOf(dims).lines * STRIP_PITCH;
  const lanesHigh = dims.heads * HEAD_PITCH;
  const cacheHigh = dims.kvHeads * CACHE_PITCH;
  const normed = 138;
  const q = normed + TILE + 66;
  const own = q + stripsHigh + (dims.headNorms ? 88 : 66);
  const ownEnd = own + dims.kvHeads * (STRIP + 3);
  const scores = ownEnd + 66;
  const scoreLanes = scores + TOKENS_HIGH + 6;
  const cacheK = scoreLanes + lanesHigh + READ;
  const weights = cacheK + cacheHigh + 44;
  const weightLanes = weights + TOKENS_HIGH + 6;
  const cacheV = weightLanes + lanesHigh + READ;
  const mixed = cacheV + cacheHigh + 46;
  const mixedEnd = mixed + stripsHigh;
  const change = mixedEnd + 62;
  const lanes = { scores, scoreLanes, cacheK, weights, weightLanes, cacheV };
  return { normed, q, own, ownEnd, ...lanes, mixed, mixedEnd, change, mlp: change + 112 };
}

function attentionHalf({ dims, columns, lanes, width, y }) {
  const { heads, kvHeads, rotary, headNorms } = dims;
  const { inLine } = linesOf(dims);
  const each = (width - LEFT) / inLine;
  const headRows = Array.from({ length: heads }, (_, head) => head);
  const kvRows = Array.from({ length: kvHeads }, (_, kvHead) => kvHead);
  const third = (width - LEFT) / 3;
  const strips = (top) => (head) => ({
    x: LEFT + (head % inLine) * each,
    y: top + Math.floor(head / inLine) * STRIP_PITCH,
    width: each - 8,
    height: STRIP,
    columns: 32,
  });
  const own = (place) => (kvHead) => ({
    x: LEFT + place * third,
    y: y.own + kvHead * (STRIP + 3),
    width: third - 10,
    height: STRIP,
    columns: 32,
  });
  const line = (top, pitch, height) => (row) => ({ x: lanes.x, y: top + row * pitch, width: columns.width, height });
  const perKey = (top) => line(top, HEAD_PITCH, HEAD_STRIP);
  const perPosition = (top) => (kvHead) => ({
    ...line(top, CACHE_PITCH, CACHE_PITCH - 4)(kvHead),
    pitch: columns.pitch,
  });
  const square = (x, top) => ({ x, y: top, width: TILE, height: TILE });
  const boxes = attentionBoxes(dims, {
    resid_in: square(0, 22),
    "attn.normed": square(LEFT, y.normed),
    "attn.q_rot": strips(y.q),
    "attn.k": own(0),
    "attn.k_rot": own(1),
    "attn.v": own(2),
    "attn.scores": perKey(y.scoreLanes),
    "cache.k": perPosition(y.cacheK),
    "attn.weights": perKey(y.weightLanes),
    "cache.v": perPosition(y.cacheV),
    "attn.mixed": strips(y.mixed),
    "attn.change": square(LEFT, y.change),
  });
  const start = (x, top) => ({ x, y: top, anchor: "start" });
  const kvNames = (top) =>
    kvRows.map((kvHead) => ({ ...kvName(kvHead), x: lanes.x - 6, y: top + kvHead * CACHE_PITCH + 26 }));
  const headName = (lanesTop, head) => ({
    x: LEFT,
    y: lanesTop + head * HEAD_PITCH,
    width: HEAD_NAME - 6,
    height: HEAD_PITCH - 2,
  });
  const ownMiddle = (place) => LEFT + place * third + (third - 10) / 2;
  const lanesMiddle = lanes.x + columns.width / 2;
  return {
    boxes,
    ribbons: ribbonsOf({ columns, lanes, width, y, heads }),
    names: [...kvNames(y.cacheK), ...kvNames(y.cacheV)],
    heads: headRows.map((head) => ({
      head,
      name: headName(y.scoreLanes, head),
      again: headName(y.weightLanes, head),
      topKey: {
        x: lanes.x + lanes.width + 4,
        y: y.weightLanes + head * HEAD_PITCH,
        width: TOP_KEY - 6,
        height: HEAD_PITCH - 2,
      },
    })),
    captions: {
      attention: start(0, 12),
      resid_in: start(TILE + 12, 42),
      streamShort: start(TILE + 12, 76),
      "attn.normed": start(LEFT + TILE + 10, y.normed + 20),
      qLong: start(LEFT, y.q - 8),
      ownLong: start(LEFT, y.ownEnd + 14),
      "attn.scores": start(lanes.x, y.scores - 4),
      readK: { x: lanesMiddle, y: y.cacheK - 9, anchor: "middle" },
      "attn.weights": start(lanes.x, y.weights - 4),
      readV: { x: lanesMiddle, y: y.cacheV - 9, anchor: "middle" },
      mixedLong: start(LEFT, y.mixed - 10),
      "attn.change": start(LEFT + TILE + 10, y.change + 14),
    },
    chips: {
      norm1: { x: LEFT + TILE / 2, y: 116 },
      wq: { x: LEFT + 40, y: y.q - 42 },
      normQ: { x: LEFT + 116, y: y.q - 42 },
      ropeQ: { x: LEFT + (headNorms ? 186 : 116), y: y.q - 42 },
      wk: { x: ownMiddle(rotary ? 0 : 1), y: y.own - (headNorms ? 46 : 24) },
      normK: { x: ownMiddle(0), y: y.own - 15 },
      ropeK: { x: ownMiddle(1), y: y.own - 24 },
      wv: { x: ownMiddle(2), y: y.own - 24 },
      wo: { x: LEFT + TILE / 2, y: y.change - 30 },
      postNorm1: { x: LEFT + TILE / 2 + 82, y: y.change - 30 },
    },
  };
}

function ribbonsOf({ columns, lanes, width, y, heads }) {
  const computed = (path) => ({ tone: "computed", path });
  const [left, right] = [LEFT + 8, LEFT + TILE - 8];
  const lanesHigh = heads * HEAD_PITCH - (HEAD_PITCH - HEAD_STRIP);
  const read = (lanesTop, cacheTop) => ({
    tone: "cached",
    path: along(
      { y: cacheTop, x0: lanes.x, x1: lanes.x + columns.width },
      { y: lanesTop + lanesHigh, x0: lanes.x, x1: lanes.x + columns.width },
    ),
  });
  const rail = LEFT / 2;
  return [
    computed(along({ y: 94, x0: 20, x1: 52 }, { y: y.normed, x0: left, x1: right })),
    computed(along({ y: y.normed + TILE, x0: left, x1: right }, { y: y.q, x0: LEFT, x1: width - 8 })),
    computed(along({ y: y.q, x0: LEFT, x1: width - 8 }, { y: y.own, x0: LEFT, x1: width - 10 })),
    read(y.scoreLanes, y.cacheK),
    read(y.weightLanes, y.cacheV),
    computed(along({ y: y.mixedEnd - 4, x0: LEFT, x1: width - 8 }, { y: y.change, x0: left, x1: right })),
    computed(
      across({ x: LEFT, y0: y.change + 20, y1: y.change + 52 }, { x: rail, y0: y.change + 30, y1: y.change + 42 }),
    ),
  ];
}
