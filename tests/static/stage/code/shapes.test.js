import assert from "node:assert/strict";
import { test } from "node:test";
import { passOf } from "../../../../kvscope/static/stage/code/shapes.js";

const runOf = (data, open = {}) => ({
  open: { tokens: Array(11), study: null, ...open },
  steps: [{ data: { position: 10, ms: { chunks: [1] }, ...data } }],
});

test("the rows are those of the step, and a query sees all positions so far", () => {
  assert.deepEqual(passOf(runOf({ rows_computed: 11 }), 0), { rows: 11, keys: 11 });
  assert.deepEqual(passOf(runOf({ rows_computed: 4 }, { reused: 7 }), 0), { rows: 4, keys: 11 });
});

test("nothing is said of rows that several passes share, or of a cache with other positions", () => {
  assert.equal(passOf(runOf({ ms: { chunks: [1, 1] } }), 0), null);
  assert.equal(passOf(runOf({}, { study: { kind: "twin", cache: "window" } }), 0), null);
});
