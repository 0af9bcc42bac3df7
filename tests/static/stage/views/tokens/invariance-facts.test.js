import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bitsOf,
  closest,
  decimalsOf,
  summed,
} from "../../../../../kvscope/static/stage/views/tokens/invariance-facts.js";

const twice = (differing, largest, alone, beside) => ({
  differing,
  largest,
  alone: { id: alone },
  beside: { id: beside },
});
const steps = [
  { step: 0, gap: 2, engine: twice(3, 0.5, 7, 7) },
  { step: 1, gap: 0.1, engine: twice(4, 0.25, 7, 8) },
  { step: 2, gap: 1, engine: twice(0, 0, 7, 9) },
];
const engine = (step) => step.engine;

test("logits of all steps are counted, and the first step with another token is named", () => {
  assert.deepEqual(summed(steps, engine), { differing: 7, largest: 0.5, parts: steps[1] });
  assert.equal(summed(steps.slice(0, 1), engine).parts, null);
});

test("the nearest choice is where the two largest logits are closest", () => {
  assert.equal(closest(steps), steps[1]);
});

test("two neighbours among float32 numbers have other digits", () => {
  for (const value of [16777216, 25.238243, 1.5, 0.00469936244, -3.25e-7]) {
    const bits = new Float32Array([value]);
    new Uint32Array(bits.buffer)[0] += 1;
    const texts = [Math.fround(value), bits[0]].map((each) => each.toFixed(decimalsOf(each)));
    assert.notEqual(texts[0], texts[1], String(value));
  }
  assert.equal(decimalsOf(0), 1);
});

test("the bits of a float32 are sign, exponent and fraction", () => {
  assert.deepEqual(bitsOf(1), { sign: "0", exponent: "01111111", fraction: "0".repeat(23) });
  assert.deepEqual(bitsOf(-2.5), { sign: "1", exponent: "10000000", fraction: `01${"0".repeat(21)}` });
  assert.equal(bitsOf(16777218).fraction, `${"0".repeat(22)}1`);
});
