import assert from "node:assert/strict";
import { test } from "node:test";
import { editsOf, inPass } from "../../../../kvscope/static/engine/answers/edits.js";
import { createRemembered } from "../../../../kvscope/static/engine/answers/remembered.js";

const INFO = { layers: 2, heads: 4, kv_heads: 2, head_dim: 8, d: 32 };
const ENGINE = /** @type {any} */ ({
  info: INFO,
  model: { edits: ["embedded", "attn.mixed", "attn.change", "mlp.change", "resid_out", "attn.k_rot", "attn.v"] },
  limits: { prompt_tokens: 512, new_tokens: 256 },
  tokenizer: { encode: (text) => [...text].map((_, id) => id) },
  remembered: createRemembered(),
});
const run = (...changes) => ({ ids: [1, 2, 3, 4, 5], prompt: 4, changes });
const ofPass = (change, rows) => editsOf(ENGINE, run(change))(rows);

test("a pass has the edits of its own rows, counted from its first", () => {
  const change = { site: "mlp", op: "zero", layer: 1, position: 5 };
  assert.deepEqual(ofPass(change, { first: 0, count: 5 }), []);
  const [edit, ...others] = ofPass(change, { first: 4, count: 8 });
  assert.deepEqual(others, []);
  const { first, end, layer, start, width, keep, based } = edit;
  assert.deepEqual(
    { first, end, layer, start, width, keep, based },
    { first: 1, end: 2, layer: 1, start: 0, width: 32, keep: 0, based: 0 },
  );
});

test("a change from a step on leaves the rows of earlier steps", () => {
  const change = { site: "layer", op: "scale", layer: 0, factor: 3, from_step: 2 };
  assert.deepEqual(ofPass(change, { first: 0, count: 5 }), []);
  const [{ first, end, keep, based }] = ofPass(change, { first: 0, count: 9 });
  assert.deepEqual({ first, end, keep, based }, { first: 5, end: 9, keep: 3, based: 1 });
});

test("an edit of a head has its columns, and each row its own numbers", () => {
  const add = Float32Array.from({ length: 4 * 8 }, (_, i) => i);
  const edit = { site: "v", layer: 0, head: 1, first: 0, last: 4, keep: 0, add, each: true };
  const [{ start, width, first, end, each, rows }] = inPass(ENGINE, edit, { first: 2, count: 10 });
  assert.deepEqual({ start, width, first, end, each }, { start: 8, width: 8, first: 0, end: 2, each: 1 });
  assert.deepEqual(Array.from(rows), Array.from(add.subarray(16)));
});

const REFUSED = {
  "changes[0].layer is 2; it must be from 0 to 1.": { site: "mlp", op: "zero", layer: 2 },
  "changes[0].head is 2; it must be from 0 to 1.": { site: "k", op: "zero", layer: 0, head: 2 },
  "changes[0].position is 4; it must be from 0 to 3.": {
    site: "mlp",
    op: "patch",
    layer: 0,
    position: 4,
    source: "abcd",
  },
  "Patch takes rows of a second prompt, and only step 0 computes rows of the prompt.": {
    ...{ site: "mlp", op: "patch", layer: 0, from_step: 1, source: "abcd" },
  },
  "The second prompt has 3 tokens and the run's prompt has 4; patch needs two of equal length, so that each row has its counterpart.":
    {
      ...{ site: "mlp", op: "patch", layer: 0, source: "abc" },
    },
};

for (const [detail, change] of Object.entries(REFUSED)) {
  test(detail, () => {
    assert.throws(
      () => editsOf(ENGINE, run(change)),
      (error) => error.message === detail && error.problem.status === 422,
    );
  });
}
