/**
 * One decode step as eight operations: the shape of each with the cache and without one, and the largest difference between
 * the measured results of both. Pure.
 */

import { msg } from "../../../shared/words/msg.js";
import { layerFlops } from "./flops.js";

/**
 * `old` is what happens to the rows before the newest: "reused" (their result is in the cache), "there" (they stay in the
 * cache), "read" (all are read from the cache) or "unneeded" (no later step needs their result).
 *
 * @param {Object} model of an `open` frame
 * @param {{rows: number, keys: number, sparse?: boolean, held?: number}} step rows computed with the cache, and keys after the step; `sparse`:
 *   the layer has experts; `held`: positions of K and V that the layer holds after the step, fewer than the keys in a local one
 * @returns {{id: string, name: string, now: string, without: string, old: "reused"|"there"|"read"|"unneeded",
 *   flops: number, flopsWithout: number, points: string[]}[]} `points`: the layer's hook points of the operation
 */
export function stepOperations(model, { rows, keys, sparse = false, held = keys }) {
  const { d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: headDim } = model;
  const inside = sparse ? `${model.experts.chosen} × ${model.experts.width}` : dMlp;
  const now = layerFlops(model, rows, keys, sparse);
  const all = layerFlops(model, keys, keys, sparse);
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
    operation("norm", msg`norm (scaling)`, "unneeded", (t) => `${t} × ${d}`, ["attn.normed"]),
    operation("q", "q", "unneeded", (t) => `${t} × ${heads * headDim}`, ["attn.q", "attn.q_rot"], "q"),
    operation("kv", msg`k and v`, "reused", (t) => `2 × ${t} × ${kvHeads * headDim}`, ["attn.k_rot", "attn.v"], "kv"),
    {
      ...operation("append", msg`append to K and V`, "there", () => `2 × ${keys} × ${kvHeads * headDim}`, []),
      now: `2 × ${held} × ${kvHeads * headDim}`,
    },
    operation(
      "scores",
      msg`scores q·k, softmax`,
      "read",
      (t) => `${heads} × ${t} × ${keys}`,
      ["attn.scores", "attn.weights"],
      "scores",
    ),
    operation("mix", msg`weighted sum of V`, "read", (t) => `${heads} × ${t} × ${headDim}`, ["attn.mixed"], "mix"),
    operation("out", msg`output matrix, add`, "unneeded", (t) => `${t} × ${d}`, ["attn.change", "resid_mid"], "out"),
    operation("mlp", msg`MLP, add`, "unneeded", (t) => `${t} × ${inside} → ${t} × ${d}`, MLP_POINTS, "mlp"),
  ];
}

const MLP_POINTS = ["mlp.normed", "mlp.gate", "mlp.raised", "mlp.hidden", "mlp.change", "resid_out"];

/**
 * @param {{name: string, old: Difference, new: Difference}[]} differences from `client.ask("operations")`
 * @param {string[]} points hook points of an operation; an MLP without a gate lacks some
 * @returns {{old: Difference, new: Difference}|null} the largest of them; null where nothing is computed
 * @typedef {{largest: number, size: number}} Difference
 */
export function differencesOf(differences, points) {
  const among = differences.filter(({ name }) => points.includes(name));
  if (!among.length) return null;
  const largest = (rows) => among.map((one) => one[rows]).reduce((a, b) => (b.largest > a.largest ? b : a));
  return { old: largest("old"), new: largest("new") };
}
