import assert from "node:assert/strict";
import { test } from "node:test";
import { isStored } from "../../../../kvscope/static/shared/log/is-stored.js";
import { blockOf, headOf } from "../../../../kvscope/static/shared/log/stored-values.js";
import { assertEach } from "../../support/lists.js";

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

/** Two query heads over one K/V head of width 2; each step's frame has the rows it computed. */
function frame(step, firstQuery, rows, { q, k, v, window = null, ...more }) {
  const tensors = { q: tensor([2, rows, 2], q), k: tensor([1, rows, 2], k), v: tensor([1, rows, 2], v), ...more };
  return { data: { step, layer: 0, level: "qkv", first_query: firstQuery, window }, tensors };
}

const PREFILL = { q: [1, 0, 0, 1, 2, 0, 0, 2], k: [1, 0, 0, 1], v: [10, 20, 30, 40] };
const DECODE = { q: [1, 1, 3, 0], k: [1, 1], v: [50, 60] };
const FRAMES = [frame(0, 0, 2, PREFILL), frame(1, 2, 1, DECODE)];

test("a level answers its own questions, and a session without values none", () => {
  const answers = ["head", "lens", "block", "algebra", "candidates"];
  const can = (saved, layer) => answers.filter((answer) => isStored(saved, answer, layer));
  const all = { layers: [0, 1], lens: true };
  assert.deepEqual(can({ values: { level: "qkv", ...all } }, 0), ["head", "lens"]);
  assert.deepEqual(can({ values: { level: "block", ...all } }, 1), ["head", "lens", "block"]);
  for (const saved of [null, {}, { values: null }]) assert.deepEqual(can(saved, 0), []);
  const one = { values: { level: "block", layers: [1], lens: false } };
  assert.deepEqual([can(one, 0), can(one, 1)], [[], ["head", "block"]]);
});

test("prefill: no query has weight on later keys, but all scores are there", () => {
  const { q, k, scores, weights, output } = headOf(FRAMES.slice(0, 1), 1);
  assert.deepEqual([...q.data], [2, 0, 0, 2]);
  assert.deepEqual(k.shape, [2, 2]);
  assertEach([...scores.data], (score) => score.toFixed(4), ["1.4142", "0.0000", "0.0000", "1.4142"]);
  assert.deepEqual([...weights.data.subarray(0, 2)], [1, 0]);
  const share = Math.exp(Math.SQRT2) / (1 + Math.exp(Math.SQRT2));
  assert.ok(Math.abs(weights.data[3] - share) < 1e-6);
  assert.ok(Math.abs(output.data[2] - (10 * (1 - share) + 30 * share)) < 1e-4);
});

test("decode: keys and values of earlier steps come from their frames", () => {
  const { q, k, v, scores, weights } = headOf(FRAMES, 0);
  assert.deepEqual(
    [q, k, scores, weights].flatMap(({ shape }) => shape),
    [1, 2, 3, 2, 1, 3, 1, 3],
  );
  assert.deepEqual([...k.data], [1, 0, 0, 1, 1, 1]);
  assert.deepEqual([...v.data], [10, 20, 30, 40, 50, 60]);
  assert.ok(Math.abs(weights.data.reduce((sum, weight) => sum + weight, 0) - 1) < 1e-6);
});

test("a window hides earlier keys", () => {
  const frames = [frame(0, 0, 2, { ...PREFILL, window: 2 }), frame(1, 2, 1, { ...DECODE, window: 2 })];
  assert.equal(headOf(frames, 0).weights.data[0], 0);
  assert.ok(headOf(frames, 0).weights.data[1] > 0);
});

test("scores far from zero do not overflow", () => {
  const far = { q: [1e3, 0, 0, 0], k: [1e3, 0], v: [1, 2] };
  assert.deepEqual([...headOf([frame(0, 0, 1, far)], 0).weights.data], [1]);
});

test("a block's sums, product and unrotated rows follow from its stored values", () => {
  const row = (values) => tensor([1, values.length], values);
  const rope = tensor([1], [0.5]);
  const inside = {
    resid_in: row([1, 2]),
    "attn.normed": row([0.1, 0.2]),
    "attn.change": row([10, 20]),
    "mlp.normed": row([0.3, 0.4]),
    "mlp.gate": row([0, 2]),
    "mlp.raised": row([5, 3]),
    "mlp.change": row([100, 200]),
    rope,
  };
  const one = frame(0, 0, 1, { q: [1, 0, 0, 1], k: [1, 2], v: [3, 4], ...inside });
  const made = blockOf([one], 0);
  assert.deepEqual([...made.resid_mid.data], [11, 22]);
  assert.deepEqual([...made.resid_out.data], [111, 222]);
  assert.equal(made["mlp.hidden"].data[0], 0);
  assert.ok(Math.abs(made["mlp.hidden"].data[1] - (2 / (1 + Math.exp(-2))) * 3) < 1e-6);
  assert.deepEqual([...made["attn.q"].data], [1, 0, 0, 1], "position 0 is not turned");
  assert.deepEqual([...made["attn.mixed"].data], [3, 4, 3, 4]);
  assert.deepEqual([...made["cache.k"].shape, ...made["attn.scores"].shape], [1, 1, 2, 2, 1]);
  const later = { ...one, data: { ...one.data, step: 1, first_query: 1 } };
  const turned = blockOf([one, later], 1)["attn.k"].data;
  const [cos, sin] = [Math.cos(0.5), Math.sin(0.5)];
  assert.ok(Math.abs(turned[0] - (cos + 2 * sin)) < 1e-6 && Math.abs(turned[1] - (2 * cos - sin)) < 1e-6);
});
