/**
 * Geometry of the drawing of a block on a wide screen, in CSS pixels. Pure.
 *
 * The residual stream runs along the top, left to right. Each half of the block is a U below it: a copy of the row goes down on
 * the left, and the change comes up on the right.
 */

import { bent } from "./boxes.js";
import { columnAt, keyColumns } from "./columns.js";
import { expertsHalf } from "./experts.js";
import { MLP_HEIGHT, MLP_WIDTH, mlpHalf } from "./mlp.js";
import { MLP_ROW_HEIGHT, mlpRow } from "./mlp-row.js";
import {
  attentionHalf,
  BEFORE_MLP,
  BETWEEN_LANES,
  HEAD_NAME,
  HEIGHTS,
  OUT_PROJECTION,
  RAIL_Y,
  STREAM,
  STRIP,
  TILE,
  TOP_KEY,
  TOP_OF_HALVES,
} from "./wide-attention.js";

const BRACKET = 34;
const LEAST_LANE = 70;
/** Above a narrower lane only short captions fit. */
const TERSE_LANE = 118;
/** Width of the stream that leads down to the MLP half, and the gap between the two halves. */
const CORNER = 16;
const BETWEEN_HALVES = 34;
/** Keeps the label of a head readable. */
const LEAST_PITCH = 17;
const OWN_GAP = 3;
const OWN_NAMES = 36;
const ROOM_OF_CHIP = 80;
/** Height of the chip of a norm of q and k. */
const ROOM_OF_NORM = 22;
const LEAST_HEIGHT = 515;

/**
 * Places both halves side by side.
 *
 * @param {Object} shape
 * @param {number} shape.width room in CSS pixels
 * @param {number} shape.height room in CSS pixels; the drawing may be higher
 * @param {Object} shape.dims {heads, kvHeads, headDim, d, mlp, gated, rotary, headNorms, postNorms, experts}; `rotary`: RoPE rotates Q and
 *   K, so that K is drawn before and after it
 * @param {{count: number, own: number, centre: number}} shape.keys as for `keyColumns`
 */
export function wideGeometry({ width, height, dims, keys }) {
  const { x, attention, bottom } = attentionAcross({ width: width - MLP_WIDTH, height, dims, keys });
  return joined(
    { width, height: Math.max(bottom, MLP_HEIGHT) },
    attention,
    (dims.experts ? expertsHalf : mlpHalf)({ dims, x: x.mlp, stream: STREAM }),
  );
}

/**
 * Places the MLP half under the attention half, for narrower screens: the stream leads down to it. Parameters and result are those
 * of `wideGeometry`.
 */
export function foldedGeometry({ width, height, dims, keys }) {
  const { x, attention, bottom } = attentionAcross({ width: width - CORNER, height, dims, keys });
  const top = bottom + BETWEEN_HALVES;
  const mlp = dims.experts
    ? expertsHalf({ dims, x: 0, y: top, stream: STREAM })
    : mlpRow({ dims, y: top, width, stream: STREAM });
  const [middle, right, turn] = [(STREAM.y0 + STREAM.y1) / 2, width - CORNER / 2, top - BETWEEN_HALVES / 2];
  const corner = [
    [x.mlp, middle],
    [right, middle],
    [right, turn],
    [TILE / 2, turn],
    [TILE / 2, top + RAIL_Y],
  ];
  const around = { tone: "computed", band: 14, path: bent(corner, 10) };
  return joined({ width, height: top + (dims.experts ? MLP_HEIGHT : MLP_ROW_HEIGHT) }, attention, {
    ...mlp,
    ribbons: [...mlp.ribbons, around],
  });
}

function joined(size, attention, mlp) {
  return {
    ...attention,
    ...size,
    boxes: [...attention.boxes, ...mlp.boxes],
    ribbons: [...attention.ribbons, ...mlp.ribbons],
    plus: [attention.plus, mlp.plus],
    captions: { ...attention.captions, ...mlp.captions },
    chips: { ...attention.chips, ...mlp.chips },
  };
}

/** `width`: up to where the MLP half begins. */
function attentionAcross({ width, height, dims, keys }) {
  const x = columnsOf(width);
  const columns = keyColumns({ ...keys, width: x.lane });
  const y = rowsOf(Math.max(LEAST_HEIGHT, height), dims);
  const half = attentionHalf({ dims, columns, own: columnAt(columns, keys.own), x, y });
  const attention = {
    ...half,
    columns,
    terse: x.lane < TERSE_LANE,
    brackets: bracketsOf(dims, x, y),
    labels: [x.scores, x.weights].map((left) => ({ x: left, y: TOP_OF_HALVES - 8 })),
    zone: { x: x.q + STRIP.width + 2, y: 56, width: x.mixed + 6 - x.q, height: y.cacheBottom + 2 - 56 },
    frames: [x.scores, x.weights].map((left) => ({ x: left, y0: y.cacheTop, y1: y.cacheBottom - 4 })),
  };
  return { x, attention, bottom: y.bottom };
}

function columnsOf(width) {
  const q = TILE + 76 + HEAD_NAME;
  const scores = q + STRIP.width + BRACKET;
  const after = TOP_KEY + STRIP.width + OUT_PROJECTION + TILE + BEFORE_MLP;
  const room = Math.max(LEAST_LANE, (width - scores - BETWEEN_LANES - after) / 2);
  const weights = scores + room + BETWEEN_LANES;
  const mixed = weights + room + TOP_KEY;
  const change = mixed + STRIP.width + OUT_PROJECTION;
  const mlp = change + TILE + BEFORE_MLP;
  return { q, names: q - HEAD_NAME, scores, weights, lane: room, topKey: weights + room, mixed, change, mlp };
}

function rowsOf(height, { heads, kvHeads, headNorms }) {
  const gap = kvHeads > 1 ? Math.min(8, 24 / kvHeads) : 0;
  const free = height - TOP_OF_HALVES - HEIGHTS.read - HEIGHTS.append - HEIGHTS.captions;
  const pitch = Math.min(28, Math.max(LEAST_PITCH, (free * 0.59 - (kvHeads - 1) * gap) / heads));
  const group = heads / kvHeads;
  const headTop = (head) => TOP_OF_HALVES + head * pitch + Math.floor(head / group) * gap;
  const headsBottom = headTop(heads - 1) + pitch;
  const cacheTop = headsBottom + HEIGHTS.read;
  const cachePitch = Math.min(68, Math.max(12, (free * 0.41) / kvHeads));
  const cacheRow = (kvHead) => cacheTop + kvHead * cachePitch;
  const cacheBottom = cacheTop + kvHeads * cachePitch;
  const own = ownRows(kvHeads, cacheTop, headNorms ? ROOM_OF_NORM : 0);
  const append = Math.max(cacheBottom + 4, own.end + OWN_NAMES);
  const strip = Math.min(18, pitch - 4);
  return {
    pitch,
    strip,
    headTop,
    headsBottom,
    cacheTop,
    cacheRow,
    cacheHeight: cachePitch - 4,
    cacheBottom,
    append,
    own,
    bottom: append + HEIGHTS.append + HEIGHTS.captions,
  };
}

/** The row's own K before and after RoPE, and its V, under the normed row. */
function ownRows(kvHeads, cacheTop, norm) {
  const strip = Math.min(14, 60 / kvHeads);
  const pitch = strip + OWN_GAP;
  const high = kvHeads * pitch - OWN_GAP;
  const k = TOP_OF_HALVES + TILE + ROOM_OF_CHIP + norm;
  const rot = Math.max(cacheTop + 22, k + high + 42);
  return { strip, pitch, k, kEnd: k + high, rot, end: rot + high };
}

/** Brackets around query heads that share a KV head; none if each has its own. */
function bracketsOf({ heads, kvHeads }, x, y) {
  const group = heads / kvHeads;
  if (group === 1) return [];
  return Array.from({ length: kvHeads }, (_, kvHead) => ({
    kvHead,
    x: x.q + STRIP.width + 5,
    y0: y.headTop(kvHead * group) - 1,
    y1: y.headTop((kvHead + 1) * group - 1) + y.strip + 1,
  }));
}
