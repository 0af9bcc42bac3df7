import assert from "node:assert/strict";
import { test } from "node:test";
import { pixels } from "../../../../../kvscope/static/stage/draw/pixels.js";
import { residualShades } from "../../../../../kvscope/static/stage/map/shades.js";
import { paintStackLine, stackSize } from "../../../../../kvscope/static/stage/views/model/residual-stack.js";

const ramp = (base) => ({ packed: Uint32Array.from({ length: 256 }, (_, i) => base + i) });
const theme = { hollow: 1000, computedCell: ramp(2000) };
const run = { layers: 2, residualNorm: (layer, position) => (layer + 1) * (position + 1) };
const view = { layers: 2, positions: 2, firstQuery: 1 };
const size = { width: 20, rowPx: 10, ratio: 1 };
const residual = residualShades(run, { low: 1, high: 4 });

function paint(shown, stack = blank()) {
  for (let layer = 0; layer < view.layers; layer++)
    paintStackLine(stack, view, layer, { residual, theme, shown }, size);
  return stack;
}

function blank() {
  const { width, height } = stackSize(view, size);
  return pixels(width, height);
}

const at = ({ data, width }, x, y) => data[y * width + x];

test("the last layer is on top, old rows are hollow, the new one is amber by its length", () => {
  const stack = paint(2);
  for (const y of [5, 15]) assert.deepEqual([at(stack, 0, y), at(stack, 4, y)], [1000, 0], "an outline, nothing in it");
  assert.equal(at(stack, 12, 15), 2128);
  assert.equal(at(stack, 12, 5), 2255);
});

test("a layer that is not reached has no new row, but the places of the old ones", () => {
  const stack = paint(1, paint(2)); // what was painted before is painted over
  assert.equal(at(stack, 12, 5), 0);
  assert.equal(at(stack, 0, 5), 1000);
  assert.equal(at(stack, 12, 15), 2128);
});
