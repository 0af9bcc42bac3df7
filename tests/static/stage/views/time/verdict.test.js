import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "../../../../../kvscope/static/stage/views/time/verdict.js";

const quiet = { disturbed: false, others: 0 };
const bandwidth = { per_second: 8e9, spread: [6e9, 9e9], conditions: quiet };
const decode = (bytesPerSecond, disturbed = false) => ({ bytesPerSecond, disturbed });
const verdictOn = (...of) => verdict(decode(...of), { bandwidth });

test("decode is near the limit only near the measured bandwidth, with both figures", () => {
  assert.match(verdictOn(5.6e9), /reads memory at 8\.00.*read 5\.60.*70\s%.*near the limit/u);
  assert.match(verdictOn(5.5e9), /69\s%.*far from the limit/);
  assert.match(verdictOn(9e9), /113\s%.*from a cache.*another machine/);
});

test("the products with the weights as they are held have their own rate", () => {
  const weights = { bytes: 96e6, formats: { "4-bit groups": 96e6 }, per_second: 6e9, conditions: quiet };
  assert.match(verdict(decode(2e9), { bandwidth, weights }), /96\.0.MB in 4-bit groups\) read 6\.00.GB\/s/u);
});

test("a disturbed time is not compared with the bandwidth", () => {
  assert.match(verdictOn(7e9, true), /Every decode step was disturbed/);
  const busy = { ...bandwidth, conditions: { disturbed: true, others: 0, waiting: 0.8 } };
  assert.match(verdict(decode(7e9), { bandwidth: busy }), /disturbed.*busy with other work/);
});
