import assert from "node:assert/strict";
import { test } from "node:test";
import { otherResult } from "../../../kvscope/static/by-hand/rounded.js";
import { tableOf } from "../../../kvscope/static/by-hand/table.js";
import { A, worked } from "./worked.js";

const table = tableOf(worked(A));

test("a sum whose written numbers give another result says which", () => {
  assert.equal(otherResult(table, "mixed1:2:0"), "1.502"); // 0.248 + 0.248 + 0.503 × 2, where 1.503 is shown
});

test("a sum that is right as it is written says nothing", () => {
  for (const cell of ["v1:2:0", "scores1:2:1", "mixed1:0:0"]) assert.equal(otherResult(table, cell), null, cell);
});

test("what is no sum says nothing", () => {
  for (const cell of ["weights1:2:1", "w_v1:1:0", "scaled1:2:1"]) assert.equal(otherResult(table, cell), null, cell);
});
