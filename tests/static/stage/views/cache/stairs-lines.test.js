import assert from "node:assert/strict";
import { test } from "node:test";
import { drawStairs, stairsGeometry, stepAt } from "../../../../../kvscope/static/stage/views/cache/stairs-lines.js";
import { columns } from "../../../support/lists.js";

const THEME = { cached: "blue", computed: "amber", bg: "paper" };

/** A context that notes what is filled. */
function recorder() {
  const fills = [];
  const nothing = () => {};
  const context = { canvas: { width: 500 }, fillStyle: "", globalAlpha: 1 };
  for (const name of ["clearRect", "save", "restore", "beginPath", "rect", "clip", "moveTo", "lineTo", "stroke"])
    context[name] = nothing;
  context.fillRect = (x, y, width) =>
    fills.push({ x, y, width, colour: context.fillStyle, alpha: context.globalAlpha });
  return { context, fills };
}

test("every step has a line that is hit where it is drawn", () => {
  for (const steps of [1, 16, 256]) {
    const geometry = stairsGeometry({ steps, positions: 500 }, { width: 300, height: 250 });
    assert.ok(geometry.cell * 500 <= 300);
    for (let step = 0; step < steps; step++) assert.equal(stepAt((step + 0.5) * geometry.line, geometry, steps), step);
    assert.equal(stepAt(geometry.height + 1, geometry, steps), null);
  }
});

test("a line's cells are reused, then computed again, then new, and what has not run is paler", () => {
  const { context, fills } = recorder();
  const geometry = { cell: 2, line: 3, height: 6 };
  const lines = [
    { reused: 5, again: 0, fresh: 1, done: true },
    { reused: 0, again: 5, fresh: 1, done: false },
  ];
  drawStairs(context, lines, { theme: THEME }, geometry);
  const cells = fills.filter(({ width }) => width > 0);
  assert.deepEqual(columns(cells, "x", "y", "width", "colour"), {
    x: [0, 10, 0, 10],
    y: [0, 0, 3, 3],
    width: [10, 2, 10, 2],
    colour: ["blue", "amber", "amber", "amber"],
  });
  assert.ok(cells[3].alpha < cells[1].alpha);
});
