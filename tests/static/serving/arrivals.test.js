import assert from "node:assert/strict";
import { test } from "node:test";
import { arrivalsOf, randoms } from "../../../kvscope/static/serving/arrivals.js";

test("the numbers are the same at every call, from 0 to 1, and spread out", () => {
  const numbers = randoms(1000);
  assert.deepEqual(randoms(1000), numbers);
  assert.ok(numbers.every((number) => number >= 0 && number < 1));
  assert.ok(Math.abs(numbers.reduce((sum, number) => sum + number, 0) / 1000 - 0.5) < 0.05);
});

test("the first request arrives at once, and each later one after its own time", () => {
  assert.deepEqual(arrivalsOf([0.9, 0, 1 - Math.exp(-2)], 100), [0, 0, 200]);
});
