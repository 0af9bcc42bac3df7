import assert from "node:assert/strict";
import { test } from "node:test";
import { passOf, shapesOf } from "../../../../kvscope/static/stage/code/shapes.js";

const MODEL = {
  ...{ d: 32, d_mlp: 48, heads: 4, kv_heads: 2, head_dim: 8, vocab: 50, gated: true },
  ...{ dtype: "float32", element_bytes: 4 },
};
const SOURCE = {
  version: "1",
  files: [
    {
      path: "layers.py",
      shapes: [
        { line: 3, when: {}, tensors: [{ of: "attn.k", hook: true, axes: ["T", "Hkv", "Dh"] }] },
        { line: 5, when: { gated: false }, tensors: [{ of: "mlp.raised", hook: true, axes: ["T", "F"] }] },
        { line: 7, when: { gated: true }, tensors: [{ of: "gate", hook: false, axes: ["T", "F"] }] },
      ],
    },
  ],
};

const runOf = (data, open = {}) => ({
  open: { tokens: Array(11), study: null, ...open },
  steps: [{ data: { position: 10, ms: { chunks: [1] }, ...data } }],
});

test("a line has its shapes only where the model runs it", () => {
  const { lines, ran } = shapesOf(SOURCE, MODEL, { rows: 3, keys: 12 });
  assert.equal(ran, null);
  assert.deepEqual(lines, {
    "layers.py": {
      3: [{ of: "attn.k", hook: true, shape: [3, 2, 8], dtype: "float32", bytes: 192 }],
      7: [{ of: "gate", hook: false, shape: [3, 48], dtype: "float32", bytes: 576 }],
    },
  });
});

test("the rows are those of the step, and a query sees all positions so far", () => {
  assert.deepEqual(passOf(runOf({ rows_computed: 11 }), 0), { rows: 11, keys: 11 });
  assert.deepEqual(passOf(runOf({ rows_computed: 4 }, { reused: 7 }), 0), { rows: 4, keys: 11 });
});

test("nothing is said of rows that several passes share, or of a cache with other positions", () => {
  assert.equal(passOf(runOf({ ms: { chunks: [1, 1] } }), 0), null);
  assert.equal(passOf(runOf({}, { study: { kind: "twin", cache: "window" } }), 0), null);
});
