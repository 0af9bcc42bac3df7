import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesIn, formatOf, oneFormat, readAlike, readAs, weightsOf } from "../../../../static/shared/facts/weights.js";

const GROUPS = { "4-bit groups": 66_355_200, "8-bit groups": 30_081_024 };
const MODEL = { dtype: "float32", weight_dtype: "float32", element_bytes: 4, weight_bytes: 538_060_032 };
const step = (weights_read, bytes_read = 0, chunks = [1]) => ({ data: { weights_read, bytes_read, ms: { chunks } } });

test("bytes stand with their format, of which too small a part is not named", () => {
  assert.equal(formatOf({ ...GROUPS, float32: 140_544 }), "4- and 8-bit groups");
  assert.equal(formatOf({ ...GROUPS, float32: 500_000_000 }), "float32 and 4- and 8-bit groups");
  assert.match(bytesIn(GROUPS), /^96\.4.MB in 4- and 8-bit groups$/);
});

test("what is held twice is told twice, and an older log says what it has", () => {
  const { stored, held } = weightsOf({ ...MODEL, weights: { stored: GROUPS, held: { ...GROUPS, float32: 538e6 } } });
  assert.match(stored, /^96\.4/);
  assert.match(held, /^538.MB in float32 and 96\.4.MB in 4- and 8-bit groups$/);
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
