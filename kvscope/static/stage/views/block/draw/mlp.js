/**
 * Geometry of the MLP half of a block below the residual stream: a copy of the row goes down on the left, the change comes up
 * on the right. Pure.
 */

import { along, bent, tile } from "./boxes.js";

export const MLP_WIDTH = 194;
export const MLP_HEIGHT = 500;
const TILE = 72;
const UNIT = 58;
const RAIL_Y = 22;
const TOP = 138;
const UNITS_TOP = 292;
const HIDDEN_TOP = 404;

/**
 * Places the MLP half of a layer.
 *
 * @param {{dims: Object, x: number, y?: number, stream: {y0: number, y1: number}}} parts `y`: its top
 */
export function mlpHalf({ dims, x, y = 0, stream }) {
  const { d, mlp, gated } = dims;
  const right = x + MLP_WIDTH - TILE;
  /** @type {[string, number][]} */
  const units = gated
    ? [
        ["mlp.gate", x],
        ["mlp.raised", x + UNIT + 8],
      ]
    : [["mlp.raised", x]];
  const hiddenX = gated ? x + 26 : x;
  const plus = { x: (x + TILE + right) / 2, y: y + (stream.y0 + stream.y1) / 2 };
  const square = (left, top, size = TILE) => ({ x: left, y: y + top, width: size, height: size });
  return {
    boxes: [
      tile("resid_mid", null, d, square(x, RAIL_Y)),
      tile("mlp.normed", null, d, square(x, TOP)),
      ...units.map(([tensor, left]) => tile(tensor, null, mlp, square(left, UNITS_TOP, UNIT))),
      tile("mlp.hidden", null, mlp, square(hiddenX, HIDDEN_TOP)),
      tile("mlp.change", null, d, square(right, TOP)),
      tile("resid_out", null, d, square(right, RAIL_Y)),
    ],
    ribbons: mlpRibbons({ x, y, right, units, hiddenX, plus, stream, parallel: dims.parallel }),
    plus,
    captions: {
      mlp: { x, y: y + 12, anchor: "start" },
      "mlp.normed": { x, y: y + TOP + TILE + 14, anchor: "start" },
      ...Object.fromEntries(
        units.map(([tensor, left]) => [tensor, { x: left + UNIT / 2, y: y + UNITS_TOP + UNIT + 13, anchor: "middle" }]),
      ),
      "mlp.hidden": { x: hiddenX + TILE / 2, y: y + HIDDEN_TOP + TILE + 14, anchor: "middle" },
      "mlp.change": { x: right + TILE, y: y + TOP + TILE + 14, anchor: "end" },
      resid_out: { x: right + TILE, y: y + RAIL_Y + TILE + 13, anchor: "end" },
    },
    chips: {
      norm2: { x: x + TILE / 2, y: y + 116 },
      ...(gated ? { wgate: { x: x + 24, y: y + UNITS_TOP - 26 } } : {}),
      wup: { x: gated ? x + 101 : x + UNIT / 2, y: y + UNITS_TOP - 26 },
      activation: { x: hiddenX + TILE / 2, y: y + HIDDEN_TOP - 20 },
      wdown: { x: right + 20, y: y + HIDDEN_TOP + TILE / 2 },
      postNorm2: { x: right + 41, y: y + HIDDEN_TOP - 20 },
    },
  };
}

function mlpRibbons({ x, y, right, units, hiddenX, plus, stream, parallel }) {
  const down = units.map(([, left]) => ({
    tone: "computed",
    path: along(
      { y: y + TOP + TILE, x0: left === x ? x + 8 : x + 44, x1: left === x ? x + 40 : x + 68 },
      { y: y + UNITS_TOP, x0: left + 13, x1: left + 45 },
    ),
  }));
  const joined = units.map(([, left]) => ({
    tone: "computed",
    path: along(
      { y: y + UNITS_TOP + UNIT, x0: left + 13, x1: left + 45 },
      { y: y + HIDDEN_TOP, x0: hiddenX + (left === x ? 6 : 36), x1: hiddenX + (left === x ? 36 : 66) },
    ),
  }));
  const entering = along({ y: y + RAIL_Y + TILE, x0: x + 20, x1: x + 52 }, { y: y + TOP, x0: x + 12, x1: x + 60 });
  const top = y + stream.y0;
  const [upX, hiddenY] = [right + 50, y + HIDDEN_TOP + TILE / 2];
  return [
    { tone: "computed", path: `M${x + TILE} ${top} H${plus.x} V${y + stream.y1} H${x + TILE} Z` },
    { tone: "output", path: `M${plus.x} ${top} H${right} V${y + stream.y1} H${plus.x} Z` },
    // The norm of a parallel MLP reads the layer's input, not the row above it.
    ...(parallel ? [] : [{ tone: "computed", path: entering }]),
    ...down,
    ...joined,
    {
      tone: "computed",
      band: 26,
      path: bent(
        [
          [hiddenX + TILE, hiddenY],
          [upX, hiddenY],
          [upX, y + TOP + TILE],
        ],
        22,
      ),
    },
    {
      tone: "computed",
      band: 12,
      path: bent(
        [
          [right, y + TOP + 24],
          [plus.x, y + TOP + 24],
          [plus.x, y + stream.y1],
        ],
        14,
      ),
    },
  ];
}
