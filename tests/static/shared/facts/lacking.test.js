import assert from "node:assert/strict";
import { test } from "node:test";
import { lacking, NEEDS } from "../../../../kvscope/static/shared/facts/lacking.js";

const own = { norm: "rms", d_mlp: 8, kv_heads: 2 };
const complete = { ms: { total: 1 }, kv: { positions: 1 }, flops: 1 };

const run = (model, data, open = {}) => ({ open: { model, ...open }, steps: [{ data }], saved: null });

test("a run that KVScope computed lacks nothing, nor does a run that is not there yet", () => {
  const whole = run(own, complete, { block_size: 16 });
  for (const needs of [...Object.values(NEEDS), ["blocks"], ["costs"], ["scores"], ["lens"]])
    assert.equal(lacking(whole, needs), null);
  assert.equal(lacking(null, ["cache"]), null);
  assert.equal(lacking({ open: null, steps: [] }, ["cache"]), null);
});

test("what a log of another program lacks is said with the program's name", () => {
  const bare = run({ computed_by: "Other 1.0" }, {});
  for (const needs of [...Object.values(NEEDS), ["blocks"], ["costs"], ["scores"], ["lens"]])
    assert.match(lacking(bare, needs), /Other 1\.0/);
  assert.equal(lacking(bare, []), null);
});

test("a cache without blocks has bytes, and stored q, k and v give scores", () => {
  const observed = run({ computed_by: "Other", kv_heads: 2 }, { kv: { positions: 1 } });
  assert.equal(lacking(observed, ["cache"]), null);
  assert.notEqual(lacking(observed, ["blocks"]), null);
  const stored = { ...observed, saved: { values: { level: "qkv", layers: [0], lens: true } } };
  assert.equal(lacking(stored, ["scores"]), null);
});
