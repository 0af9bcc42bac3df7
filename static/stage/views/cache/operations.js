/**
 * One decode step as eight operations, each with the shape it has now and the shape it would have without a cache, and how
 * far what both ways really gave differs. Pure.
 */

import { layerFlops } from "./flops.js";

/**
 * `old` says what becomes of the rows before the newest: "reused" (their result lies in the cache), "there" (they stay
 * where they are), "read" (all are read from the cache) or "unneeded" (nobody asks for their result again).
 *
 * @param {Object} model of an `open` frame
 * @param {{rows: number, keys: number}} step rows computed with the cache, and keys there are after it
 * @returns {{id: string, name: string, now: string, without: string, old: "reused"|"there"|"read"|"unneeded",
 *   flops: number, flopsWithout: number, points: string[]}[]} `points`: the layer's hook points of the operation
 */
export function stepOperations(model, { rows, keys }) {
  const { d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: headDim } = model;
  const now = layerFlops(model, rows, keys);
  const all = layerFlops(model, keys, keys);
  const operation = (id, name, old, shape, points, product = null) => ({
    id,
    name,
    old,
    points,
    now: shape(rows),
    without: shape(keys),
    flops: product ? now[product] : 0,
    flopsWithout: product ? all[product] : 0,
  });
  return [
    operation("norm", "norm", "unneeded", (t) => `${t} × ${d}`, ["attn.normed"]),
    operation("q", "q", "unneeded", (t) => `${t} × ${heads * headDim}`, ["attn.q", "attn.q_rot"], "q"),
    operation("kv", "k and v", "reused", (t) => `2 × ${t} × ${kvHeads * headDim}`, ["attn.k_rot", "attn.v"], "kv"),
    operation("append", "append to K and V", "there", () => `2 × ${keys} × ${kvHeads * headDim}`, []),
    operation(
      "scores",
      "scores q·k, softmax",
      "read",
      (t) => `${heads} × ${t} × ${keys}`,
      ["attn.scores", "attn.weights"],
      "scores",
    ),
    operation("mix", "mix the V rows", "read", (t) => `${heads} × ${t} × ${headDim}`, ["attn.mixed"], "mix"),
    operation("out", "project, add", "unneeded", (t) => `${t} × ${d}`, ["attn.change", "resid_mid"], "out"),
    operation("mlp", "MLP, add", "unneeded", (t) => `${t} × ${dMlp} → ${t} × ${d}`, MLP_POINTS, "mlp"),
  ];
}

const MLP_POINTS = ["mlp.normed", "mlp.gate", "mlp.raised", "mlp.hidden", "mlp.change", "resid_out"];

/**
 * @param {{name: string, old: Difference, new: Difference}[]} told as `client.ask("operations")` gives them
 * @param {string[]} points the hook points that are meant; of an MLP without a gate some are not there
 * @returns {{old: Difference, new: Difference}|null} the largest of them; null where nothing is computed
 * @typedef {{largest: number, size: number}} Difference
 */
export function differencesOf(told, points) {
  const among = told.filter(({ name }) => points.includes(name));
  if (!among.length) return null;
  const largest = (rows) => among.map((one) => one[rows]).reduce((a, b) => (b.largest > a.largest ? b : a));
  return { old: largest("old"), new: largest("new") };
}
