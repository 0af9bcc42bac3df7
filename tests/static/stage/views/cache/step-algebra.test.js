import assert from "node:assert/strict";
import { test } from "node:test";
import { small } from "../../../../../kvscope/static/stage/facts/small-numbers.js";
import { algebraFacts } from "../../../../../kvscope/static/stage/views/cache/algebra.js";
import { layerFlops } from "../../../../../kvscope/static/stage/views/cache/flops.js";
import { differencesOf, stepOperations } from "../../../../../kvscope/static/stage/views/cache/operations.js";

/** SmolLM2-135M. */
const SMOL = { gated: true, layers: 30, heads: 9, kv_heads: 3, head_dim: 64, d: 576, d_mlp: 1536, vocab: 49152 };

test("the eight operations' work adds up to a layer's, with the cache and without", () => {
  const operations = stepOperations(SMOL, { rows: 1, keys: 14 });
  assert.equal(operations.length, 8);
  const sum = (name) => operations.reduce((total, one) => total + one[name], 0);
  const layer = (rows) => Object.values(layerFlops(SMOL, rows, 14)).reduce((total, one) => total + one, 0);
  assert.equal(sum("flops"), layer(1));
  assert.equal(sum("flopsWithout"), layer(14));
});

test("shapes are those of one row now and of all rows without a cache; only k and v are reused", () => {
  const operations = stepOperations(SMOL, { rows: 1, keys: 14 });
  const of = (id) => operations.find((one) => one.id === id);
  assert.deepEqual([of("q").now, of("q").without], ["1 × 576", "14 × 576"]);
  assert.deepEqual([of("kv").now, of("kv").without], ["2 × 1 × 192", "2 × 14 × 192"]);
  assert.deepEqual([of("scores").now, of("scores").without], ["9 × 1 × 14", "9 × 14 × 14"]);
  assert.deepEqual(
    operations.filter(({ old }) => old === "reused").map(({ id }) => id),
    ["kv"],
  );
});

test("of an operation's hook points the largest difference counts, whatever the model lacks of them", () => {
  const differences = [
    { name: "attn.k_rot", old: { largest: 1, size: 9 }, new: { largest: 5, size: 7 } },
    { name: "attn.v", old: { largest: 2, size: 8 }, new: { largest: 4, size: 6 } },
    { name: "attn.q", old: { largest: 99, size: 99 }, new: { largest: 99, size: 99 } },
  ];
  const { points } = stepOperations(SMOL, { rows: 1, keys: 14 }).find(({ id }) => id === "kv");
  assert.deepEqual(differencesOf(differences, points), { old: { largest: 2, size: 8 }, new: { largest: 5, size: 7 } });
  assert.equal(differencesOf(differences, ["mlp.gate"]), null);
});

test("every hook point of a layer belongs to an operation", () => {
  const points = stepOperations(SMOL, { rows: 1, keys: 14 }).flatMap((one) => one.points);
  const layer =
    "attn.normed attn.q attn.q_rot attn.k_rot attn.v attn.scores attn.weights attn.mixed attn.change resid_mid " +
    "mlp.normed mlp.gate mlp.raised mlp.hidden mlp.change resid_out";
  assert.deepEqual([...points].sort(), layer.split(" ").sort());
});

test("an MLP without a gate has two matrices", () => {
  assert.equal(layerFlops({ ...SMOL, gated: false }, 1, 1).mlp * 3, layerFlops(SMOL, 1, 1).mlp * 2);
});

const tensor = (shape, values) => ({ shape, data: Float32Array.from(values) });

test("the cached and the recomputed numbers are compared one by one, the output by its newest row", () => {
  const facts = algebraFacts({
    k: tensor([3, 2], [0, 1, 2, -8, 4, 5]),
    k_again: tensor([3, 2], [0, 1, 2.25, -8, 4, 5]),
    v: tensor([3, 2], [1, 1, 1, 1, 1, 1]),
    v_again: tensor([3, 2], [1, 1, 1, 1, 1, 1]),
    output: tensor([1, 2], [3, 3]),
    output_again: tensor([3, 2], [0, 0, 0, 0, 3, 2]),
  });
  assert.deepEqual([facts.keys, facts.headDim], [3, 2]);
  assert.deepEqual(facts.k, { largest: 0.25, size: 8 });
  assert.equal(facts.v.largest, 0);
  assert.equal(facts.output.largest, 1);
});

test("very small numbers are written as powers of ten", () => {
  assert.equal(small(0), "0");
  assert.equal(small(0.0000407), "4.1×10⁻⁵");
  assert.equal(small(1e-12), "1.0×10⁻¹²");
  assert.equal(small(0.0123), "0.0123");
});
