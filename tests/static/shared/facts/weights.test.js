import assert from "node:assert/strict";
import { test } from "node:test";
import {
  bytesIn,
  formatOf,
  groupsOf,
  keptAs,
  mainFormat,
  oneFormat,
  readAlike,
  readAs,
  weightsOf,
} from "../../../../kvscope/static/shared/facts/weights.js";

const GROUPS = { "4-bit groups": 66_355_200, "8-bit groups": 30_081_024 };
const MODEL = { dtype: "float32", weight_dtype: "float32", element_bytes: 4, weight_bytes: 538_060_032 };
const IN_GROUPS = { ...MODEL, weights: { stored: GROUPS, held: { ...GROUPS, float32: 140_544 } } };
const TWICE = { ...MODEL, weights: { stored: GROUPS, held: { ...GROUPS, float32: 538e6 } } };
const step = (weights_read, bytes_read = 0, chunks = [1]) => ({ data: { weights_read, bytes_read, ms: { chunks } } });

test("bytes are written with their formats, without formats of a small share", () => {
  assert.equal(formatOf({ ...GROUPS, float32: 140_544 }), "4- and 8-bit groups");
  assert.equal(formatOf({ ...GROUPS, float32: 500_000_000 }), "float32 and 4- and 8-bit groups");
  assert.match(bytesIn(GROUPS), /^96\.4.MB in 4- and 8-bit groups$/);
});

test("the sizes in the file and in memory have formats, and an older log says what it has", () => {
  const { stored, held } = weightsOf(IN_GROUPS);
  assert.match(stored, /^96\.4/);
  assert.match(held, /^96\.6.MB in 4- and 8-bit groups$/);
  assert.match(weightsOf(TWICE).held, /^634.MB in float32 and 4- and 8-bit groups$/);
  assert.deepEqual(weightsOf(MODEL).stored, null);
  assert.match(weightsOf(MODEL).held, /^538.MB in float32$/);
});

test("steps that read other formats are not alike, also in a log that does not name them", () => {
  const [prefill, decode] = [step({ float32: 538e6 }), step(GROUPS)];
  assert.equal(oneFormat([prefill, decode], MODEL), null);
  assert.equal(readAlike([prefill, decode], [prefill, step({ float32: 538e6 })], MODEL), false);
  assert.equal(readAlike([prefill, decode], [prefill], MODEL), true);
  assert.equal(readAs(step(undefined, 98e6).data, MODEL), "groups");
  assert.equal(readAs(step(undefined, 540e6).data, MODEL), "float32");
  assert.equal(readAs(step(undefined, 1080e6, [1, 1]).data, MODEL), "float32");
});

test("a model is called by the format of most bytes in memory, else in its file; an older log by its dtypes", () => {
  const named = (weights, own = "float32") => mainFormat({ ...MODEL, weight_dtype: own, weights });
  assert.equal(mainFormat(IN_GROUPS), "4-bit");
  assert.equal(named({ stored: { "8-bit groups": 30, float32: 1 } }), "8-bit");
  assert.equal(named({ stored: GROUPS, held: { bfloat16: 269e6, float32: 140_544 } }, "bfloat16"), "bf16");
  assert.equal(mainFormat(TWICE), "fp32");
  assert.equal(named(undefined), "fp32");
  assert.equal(named(undefined, "bfloat16"), "fp32 · bf16 weights");
});

test("only of weights that are in groups alone does the dtype give no sizes", () => {
  assert.deepEqual([IN_GROUPS, TWICE, MODEL].map(groupsOf), ["4- and 8-bit groups", null, null]);
  assert.deepEqual([IN_GROUPS, TWICE, MODEL].map(keptAs), [
    "float32 with weights in 4- and 8-bit groups",
    "float32",
    "float32",
  ]);
  assert.equal(keptAs({ ...MODEL, weight_dtype: "bfloat16" }), "float32 with weights in bfloat16");
});
