import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "../../../../../static/stage/views/time/verdict.js";

const bandwidth = { per_second: 8e9, spread: [6e9, 9e9], conditions: { disturbed: false, others: 0 } };
const decode = (bytesPerSecond, disturbed = false) => ({ bytesPerSecond, disturbed });

test("decode is called memory-bound from half of the measured bandwidth on, and not below", () => {
  assert.match(verdict(decode(4e9), bandwidth), /50\s%.*: it is memory-bound/);
  assert.match(verdict(decode(3.9e9), bandwidth), /not memory-bound here/);
});

test("a disturbed time is not compared with the bandwidth", () => {
  assert.match(verdict(decode(7e9, true), bandwidth), /Every decode step was disturbed/);
  const busy = { ...bandwidth, conditions: { disturbed: true, others: 0, waiting: 0.8 } };
  assert.match(verdict(decode(7e9), busy), /disturbed.*busy with other work/);
});
