/** Geometry of the MLP half of a block below the attention half: left to right under the residual stream. Pure. */

import { across, along, tile } from "./boxes.js";

export const MLP_ROW_HEIGHT = 308;
const TILE = 72;
const UNIT = 58;
const RAIL_Y = 22;
const TOP = 138;
const UNITS_PITCH = 82;

/** @param {{dims: Object, y: number, width: number, stream: {y0: number, y1: number}}} parts `y`: its top */
export function mlpRow({ dims, y, width, stream }) {
  const { d, mlp, gated, postNorms } = dims;
  const x = placesOf(width);
  /** @type {[string, number][]} */
  const units = gated
    ? [
        ["mlp.gate", TOP],
        ["mlp.raised", TOP + UNITS_PITCH],
      ]
    : [["mlp.raised", TOP]];
  const square = (left, top, size = TILE) => ({ x: left, y: y + top, width: size, height: size });
  const plus = { x: x.change + TILE / 2, y: y + (stream.y0 + stream.y1) / 2 };
  const under = (left, size, top = TOP) => ({ x: left + size / 2, y: y + top + size + 14, anchor: "middle" });
  const between = (from, to) => (from + to) / 2;
  return {
    boxes: [
      tile("resid_mid", null, d, square(0, RAIL_Y)),
      tile("mlp.normed", null, d, square(0, TOP)),
      ...units.map(([tensor, top]) => tile(tensor, null, mlp, square(x.units, top, UNIT))),
      tile("mlp.hidden", null, mlp, square(x.hidden, TOP)),
      tile("mlp.change", null, d, square(x.change, TOP)),
      tile("resid_out", null, d, square(x.out, RAIL_Y)),
    ],
    ribbons: ribbonsOf({ x, y, units, plus, stream, parallel: dims.parallel }),
    plus,
    captions: {
      mlp: { x: 0, y: y + 12, anchor: "start" },
      "mlp.normed": { x: 0, y: y + TOP + TILE + 14, anchor: "start" },
      ...Object.fromEntries(units.map(([tensor, top]) => [tensor, under(x.units, UNIT, top)])),
      "mlp.hidden": under(x.hidden, TILE),
      "mlp.change": under(x.change, TILE),
      resid_out: { x: x.out + TILE, y: y + RAIL_Y + TILE + 14, anchor: "end" },
    },
    chips: {
      norm2: { x: TILE / 2, y: y + 116 },
      ...(gated ? { wgate: { x: between(TILE, x.units), y: y + TOP + UNIT / 2 } } : {}),
      wup: { x: between(TILE, x.units), y: y + TOP + (gated ? UNITS_PITCH : 0) + UNIT / 2 },
      activation: { x: between(x.units + UNIT, x.hidden), y: y + TOP + TILE / 2 },
      wdown: { x: between(x.hidden + TILE, x.change), y: y + TOP + (postNorms ? 24 : TILE / 2) },
      postNorm2: { x: between(x.hidden + TILE, x.change), y: y + TOP + 56 },
    },
  };
}

/** Left edges; the gaps between them fill the width. */
function placesOf(width) {
  const out = width - TILE;
  const gap = Math.min(170, Math.max(84, (width - 4 * TILE - UNIT - 60) / 4));
  const units = TILE + gap;
  const hidden = units + UNIT + Math.max(140, gap);
  return { units, hidden, change: Math.min(hidden + TILE + gap, out - TILE - 40), out };
}

function ribbonsOf({ x, y, units, plus, stream, parallel }) {
  const computed = (path) => ({ tone: "computed", path });
  const [top, bottom] = [y + stream.y0, y + stream.y1];
  const normed = { x: TILE, y0: y + TOP + 8, y1: y + TOP + TILE - 8 };
  const hidden = { x: x.hidden, y0: y + TOP + 8, y1: y + TOP + TILE - 8 };
  const unit = (left, at) => ({ x: left, y0: y + at + 8, y1: y + at + UNIT - 8 });
  return [
    computed(`M${TILE} ${top} H${plus.x} V${bottom} H${TILE} Z`),
    { tone: "output", path: `M${plus.x} ${top} H${x.out} V${bottom} H${plus.x} Z` },
    // The norm of a parallel MLP reads the layer's input, not the row above it.
    ...(parallel ? [] : [computed(along({ y: y + RAIL_Y + TILE, x0: 20, x1: 52 }, { y: y + TOP, x0: 12, x1: 60 }))]),
    ...units.flatMap(([, at]) => [
      computed(across(normed, unit(x.units, at))),
      computed(across(unit(x.units + UNIT, at), hidden)),
    ]),
    computed(across({ ...hidden, x: x.hidden + TILE }, { ...hidden, x: x.change })),
    computed(
      along({ y: y + TOP, x0: x.change + 12, x1: x.change + 60 }, { y: bottom, x0: plus.x - 6, x1: plus.x + 6 }),
    ),
  ];
}
