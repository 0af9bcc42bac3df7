import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesIn,
  formatOf,
  formatReadBy,
  groupsOf,
  keptAs,
  mainFormat,
  weightsOf,
} from "../../../../kvscope/static/shared/facts/weights.js";

const GROUPS = { "4-bit groups": 66_355_200, "8-bit groups": 30_081_024 };
const MODEL = { dtype: "float32", weight_dtype: "float32", element_bytes: 4, weight_bytes: 538_060_032 };
const PLAIN = { ...MODEL, weights: { stored: {}, held: { float32: 538_060_032 } } };
const IN_GROUPS = { ...MODEL, weights: { stored: GROUPS, held: { ...GROUPS, float32: 140_544 } } };
const TWICE = { ...MODEL, weights: { stored: GROUPS, held: { ...GROUPS, float32: 538e6 } } };

test("bytes are written with their formats, without formats of a small share", () => {
  assert.equal(formatOf({ ...GROUPS, float32: 140_544 }), "4- and 8-bit groups");
  assert.equal(formatOf({ ...GROUPS, float32: 500_000_000 }), "float32 and 4- and 8-bit groups");
  assert.match(bytesIn(GROUPS), /^96\.4.MB in 4- and 8-bit groups$/);
});

test("the sizes in the file and in memory have formats", () => {
  const { stored, held } = weightsOf(IN_GROUPS);
  assert.match(stored, /^96\.4/);
  assert.match(held, /^96\.6.MB in 4- and 8-bit groups$/);
  assert.match(weightsOf(TWICE).held, /^634.MB in float32 and 4- and 8-bit groups$/);
  assert.deepEqual(weightsOf(PLAIN).stored, null);
  assert.match(weightsOf(PLAIN).held, /^538.MB in float32$/);
});

test("the format that steps read is that of the first; without steps there is none", () => {
  const step = (weights_read) => ({ data: { weights_read } });
  assert.equal(formatReadBy([step(GROUPS), step(GROUPS)]), "4- and 8-bit groups");
  assert.equal(formatReadBy([]), null);
});

test("a model is called by the format of most bytes in memory", () => {
  const named = (held) => mainFormat({ ...MODEL, weights: { stored: GROUPS, held } });
  assert.equal(mainFormat(IN_GROUPS), "4-bit");
  assert.equal(named({ "8-bit groups": 30, float32: 1 }), "8-bit");
  assert.equal(named({ bfloat16: 269e6, float32: 140_544 }), "bf16");
  assert.equal(mainFormat(TWICE), "fp32");
});

test("only of weights that are in groups alone does the dtype give no sizes", () => {
  assert.deepEqual([IN_GROUPS, TWICE, PLAIN].map(groupsOf), ["4- and 8-bit groups", null, null]);
  assert.deepEqual([IN_GROUPS, TWICE, PLAIN].map(keptAs), [
    "float32 with weights in 4- and 8-bit groups",
    "float32",
    "float32",
  ]);
  assert.equal(keptAs({ ...PLAIN, weight_dtype: "bfloat16" }), "float32 with weights in bfloat16");
});
