import assert from "node:assert/strict";
import { test } from "node:test";
import {
  attentionCurve,
  attentionFlops,
  cacheCurve,
  expected,
  lengthsUpTo,
  pairCost,
  roof,
} from "../../../kvscope/static/memory/curves.js";
import { lengthsOf, pointsOf } from "../../../kvscope/static/memory/points.js";
import { shapeOf } from "../../../kvscope/static/shared/sizes/shape-of.js";
import { requestBytes } from "../../../kvscope/static/shared/sizes/sizes.js";
import { timePerToken, timeToFirstToken } from "../../../kvscope/static/shared/sizes/speed.js";
import { columns } from "../support/lists.js";
import { LIKE_LLAMA } from "../support/made-run.js";
import { gpuOf, modelOf, small } from "./known.js";

const step = (number, position, changes = {}) => ({
  ...{ step: number, phase: number ? "decode" : "prefill", position, batch: 1 },
  ...{ rows_computed: number ? 1 : position + 1, ms: { forward: 20, total: 90 }, flops: 4e8, bytes_read: 2e8 },
  kv: { positions: position + 1, bytes_used: 32 * (position + 1) },
  ...changes,
});

test("a step stands at its operations a byte, as high as its time made it", () => {
  const { points, shared } = pointsOf([step(0, 9), step(1, 10), step(2, 11, { batch: 3 })]);
  assert.equal(shared, 1);
  assert.deepEqual(points[0], {
    ...{ step: 0, phase: "prefill", tokens: 10, rows: 10, ms: 20, flops: 4e8, bytes: 2e8 },
    ...{ intensity: 2, perSecond: 2e10 },
  });
});

test("cache and pairs after each step are on the curves of their formulas", () => {
  const model = small();
  const lengths = lengthsOf([step(0, 9), step(1, 10), step(2, 11)], null);
  assert.deepEqual(columns(lengths, "tokens", "pairs"), { tokens: [10, 11, 12], pairs: [55, 66, 78] });
  for (const { tokens, bytes, pairs } of lengths) {
    assert.equal(bytes, requestBytes(model, tokens, { dtype: "bf16" }).value);
    assert.equal(pairs * pairCost(model), attentionFlops(model, tokens));
  }
});

test("a run of a model with local layers is on the curves of a model with a window", () => {
  const windows = [4, 4, null];
  const model = shapeOf({ ...LIKE_LLAMA, ...modelOf("smollm2-135m"), layers: 3, windows, context: 8192 });
  assert.deepEqual(model.window, { tokens: 4, layers: [0, 1] });
  for (const { tokens, pairs } of lengthsOf([step(0, 9), step(1, 10)], windows))
    assert.ok(Math.abs(pairs * pairCost(model) - attentionFlops(model, tokens)) < 1e-6 * attentionFlops(model, tokens));
});

test("the shape of a run's model is enough for its curves", () => {
  const { name: _name, context: _context, ...sizes } = modelOf("smollm2-135m");
  const shape = shapeOf({ ...LIKE_LLAMA, ...sizes, name: "SmolLM2", context: 8192 });
  assert.equal(cacheCurve(shape, { dtype: "fp32" }, 26).at(-1).y, 26 * 46_080);
  assert.equal(attentionFlops(shape, 2), 3 * pairCost(shape));
});

test("lengths are whole, rise, and end where they are to", () => {
  for (const most of [2, 10, 8192, 100_000_000]) {
    const lengths = lengthsUpTo(most);
    assert.deepEqual([lengths[0], lengths.at(-1)], [1, most]);
    assert.ok(lengths.every((each, at) => Number.isInteger(each) && (at === 0 || each > lengths[at - 1])));
  }
});

test("cache grows evenly, attention with the square", () => {
  const model = modelOf("llama-3-8b");
  const at = (curve) => [curve[0].y, curve.at(-1).y];
  const [first, last] = at(cacheCurve(model, { dtype: "bf16" }, 8192));
  assert.equal(last / first, 8192);
  const [one, all] = at(attentionCurve(model, 8192));
  assert.equal(all / one, (8192 * 8193) / 2);
});

const STORED = { dtype: "bf16" };
const INPUTS = {
  context: 8192,
  requests: 8,
  prefix: 0,
  cache: STORED,
  weights: STORED,
  gpu: gpuOf("h100-sxm"),
  gpus: 1,
};

test("a roof bends at the ridge, and what is expected lies on it", () => {
  const gpu = gpuOf("h100-sxm");
  const [low, ridge, high] = roof(gpu);
  assert.equal(ridge.x, gpu.flops / gpu.bandwidth);
  assert.ok(Math.abs(ridge.y / gpu.flops - 1) < 1e-12 && high.y === gpu.flops);
  assert.equal(low.y, 0.1 * gpu.bandwidth);
  const [decode, prefill] = expected(modelOf("llama-3-8b"), { ...INPUTS, gpus: 2 });
  assert.ok(Math.abs(decode.perSecond / (decode.intensity * gpu.bandwidth) - 1) < 1e-12, "of one GPU");
  assert.ok(Math.abs(prefill.perSecond / gpu.flops - 1) < 1e-12);
  assert.deepEqual([decode.bound, prefill.bound], ["bandwidth", "peak"]);
});

test("where one bound alone holds, the estimate is that of speed.js, and a short prompt is bound by what is read", () => {
  const model = modelOf("llama-3-8b");
  const [decode, prefill] = expected(model, INPUTS);
  assert.ok(Math.abs(decode.seconds / timePerToken(model, INPUTS).value - 1) < 1e-12);
  assert.ok(Math.abs(prefill.seconds / timeToFirstToken(model, 8192, INPUTS).value - 1) < 1e-12);
  const [many, short] = expected(model, { ...INPUTS, context: 64, requests: 4000 });
  assert.deepEqual([many.bound, short.bound], ["peak", "bandwidth"]);
  assert.ok(short.seconds > timeToFirstToken(model, 64, INPUTS).value);
});
