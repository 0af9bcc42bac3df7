/**
 * Geometry of the MLP half of a block with experts, below the residual stream: the row goes down on the left through the router,
 * each chosen expert has a line, and the sum of their outputs comes up on the right. Pure.
 */

import { along, tile } from "./boxes.js";
import { MLP_WIDTH } from "./mlp.js";

const TILE = 72;
const RAIL_Y = 22;
const TOP = 138;
const ROUTER_TOP = 296;
const ROUTER_HIGH = 16;
const EXPERTS_TOP = 354;
const MOST_PITCH = 24;
/** Height for all experts of a row. */
const EXPERTS_HIGH = 120;
const NAME = 52;
const BETWEEN = 4;
const TENSORS = ["mlp.gate", "mlp.raised", "mlp.hidden"];

/**
 * Places the MLP half of a layer with experts.
 *
 * @param {{dims: Object, x: number, y?: number, stream: {y0: number, y1: number}}} parts `y`: its top; `dims.mlp`: numbers inside one
 *   expert, `dims.experts`: {count, chosen}
 */
export function expertsHalf({ dims, x, y = 0, stream }) {
  const { d, mlp, experts } = dims;
  const right = x + MLP_WIDTH - TILE;
  const pitch = Math.min(MOST_PITCH, EXPERTS_HIGH / experts.chosen);
  const width = (MLP_WIDTH - NAME) / TENSORS.length - BETWEEN;
  const leftOf = (column) => x + NAME + column * (width + BETWEEN);
  const topOf = (rank) => y + EXPERTS_TOP + rank * pitch;
  const ranks = Array.from({ length: experts.chosen }, (_, rank) => rank);
  const plus = { x: (x + TILE + right) / 2, y: y + (stream.y0 + stream.y1) / 2 };
  const square = (left, top) => ({ x: left, y: y + top, width: TILE, height: TILE });
  const bottom = topOf(experts.chosen - 1) + pitch;
  return {
    boxes: [
      tile("resid_mid", null, d, square(x, RAIL_Y)),
      tile("mlp.normed", null, d, square(x, TOP)),
      tile("mlp.probabilities", null, experts.count, {
        ...{ x, y: y + ROUTER_TOP, width: TILE, height: ROUTER_HIGH },
        columns: Math.min(experts.count, TILE / 2),
      }),
      ...ranks.flatMap((rank) =>
        TENSORS.map((tensor, column) =>
          tile(tensor, rank, mlp, { x: leftOf(column), y: topOf(rank), width, height: Math.max(4, pitch - 6) }),
        ),
      ),
      tile("mlp.change", null, d, square(right, TOP)),
      tile("resid_out", null, d, square(right, RAIL_Y)),
    ],
    ribbons: ribbonsOf({ x, y, right, plus, stream, bottom }),
    plus,
    captions: {
      mlp: { x, y: y + 12, anchor: "start" },
      "mlp.normed": { x, y: y + TOP + TILE + 14, anchor: "start" },
      "mlp.probabilities": { x, y: y + ROUTER_TOP + ROUTER_HIGH + 14, anchor: "start" },
      ...Object.fromEntries(
        TENSORS.map((tensor, column) => [
          tensor,
          { x: leftOf(column) + width / 2, y: y + EXPERTS_TOP - 6, anchor: "middle" },
        ]),
      ),
      ...Object.fromEntries(
        ranks.map((rank) => [
          `expert ${rank}`,
          { x, y: topOf(rank) + Math.max(4, pitch - 6) / 2 + 4, anchor: "start" },
        ]),
      ),
      "mlp.change": { x: right + TILE, y: y + TOP + TILE + 14, anchor: "end" },
      resid_out: { x: right + TILE, y: y + RAIL_Y + TILE + 13, anchor: "end" },
    },
    chips: {
      norm2: { x: x + TILE / 2, y: y + 116 },
      router: { x: x + TILE / 2, y: y + ROUTER_TOP - 20 },
      experts: { x: x + MLP_WIDTH / 2, y: bottom + 16 },
      shares: { x: right + 36, y: y + ROUTER_TOP - 12 },
    },
  };
}

function ribbonsOf({ x, y, right, plus, stream, bottom }) {
  const computed = (path) => ({ tone: "computed", path });
  const [top, end] = [y + stream.y0, y + stream.y1];
  return [
    computed(`M${x + TILE} ${top} H${plus.x} V${end} H${x + TILE} Z`),
    { tone: "output", path: `M${plus.x} ${top} H${right} V${end} H${plus.x} Z` },
    computed(along({ y: y + RAIL_Y + TILE, x0: x + 20, x1: x + 52 }, { y: y + TOP, x0: x + 12, x1: x + 60 })),
    computed(along({ y: y + TOP + TILE, x0: x + 12, x1: x + 60 }, { y: y + ROUTER_TOP, x0: x + 8, x1: x + 64 })),
    computed(`M${x + NAME - 4} ${y + EXPERTS_TOP - 4} H${x + MLP_WIDTH} V${bottom - 2} H${x + NAME - 4} Z`),
    computed(
      along(
        { y: y + ROUTER_TOP + ROUTER_HIGH, x0: x + 20, x1: x + 64 },
        { y: y + EXPERTS_TOP - 4, x0: x + NAME, x1: x + NAME + 44 },
      ),
    ),
    computed(
      along(
        { y: y + TOP + TILE, x0: right + 20, x1: right + 60 },
        { y: y + EXPERTS_TOP - 4, x0: right + 20, x1: right + 60 },
      ),
    ),
    {
      tone: "computed",
      band: 12,
      path: `M${right} ${y + TOP + 24} L${plus.x + 8} ${y + TOP + 24} Q${plus.x} ${y + TOP + 24} ${plus.x} ${y + TOP + 14} L${plus.x} ${end}`,
    },
  ];
}
