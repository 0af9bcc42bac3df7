import assert from "node:assert/strict";
import { test } from "node:test";
import { verdict } from "../../../../static/views/time/verdict.js";

test("a token's time that grew more than its arithmetic is never said to have grown no more", () => {
  assert.match(verdict(1.2, 8.8), /memory-bound/);
  assert.match(verdict(1.24, 1.5), /a little more than arithmetic/);
  assert.match(verdict(1.2, 1.2), /no more than its arithmetic/);
  assert.match(verdict(1.21, 1.23), /no more than its arithmetic/, "both are written as 1.2×");
});
