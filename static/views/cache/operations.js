/** One decode step as eight operations, each with the shape it has now and the shape it would have without a cache. Pure. */

import { layerFlops } from "./flops.js";

/**
 * `old` says what becomes of the rows before the newest: "reused" (their result lies in the cache), "there" (they stay
 * where they are), "read" (all are read from the cache) or "unneeded" (nobody asks for their result again).
 *
 * @param {Object} model of an `open` frame
 * @param {{rows: number, keys: number}} step rows computed with the cache, and keys there are after it
 * @returns {{id: string, name: string, now: string, without: string, old: "reused"|"there"|"read"|"unneeded",
 *   flops: number, flopsWithout: number}[]}
 */
export function stepOperations(model, { rows, keys }) {
  const { d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: headDim } = model;
  const now = layerFlops(model, rows, keys);
  const all = layerFlops(model, keys, keys);
  const operation = (id, name, old, shape, product = null) => ({
    id,
    name,
    old,
    now: shape(rows),
    without: shape(keys),
    flops: product ? now[product] : 0,
    flopsWithout: product ? all[product] : 0,
  });
  return [
    operation("norm", "norm", "unneeded", (t) => `${t} × ${d}`),
    operation("q", "q", "unneeded", (t) => `${t} × ${heads * headDim}`, "q"),
    operation("kv", "k and v", "reused", (t) => `2 × ${t} × ${kvHeads * headDim}`, "kv"),
    operation("append", "append to K and V", "there", () => `2 × ${keys} × ${kvHeads * headDim}`),
    operation("scores", "scores q·k, softmax", "read", (t) => `${heads} × ${t} × ${keys}`, "scores"),
    operation("mix", "mix the V rows", "read", (t) => `${heads} × ${t} × ${headDim}`, "mix"),
    operation("out", "project, add", "unneeded", (t) => `${t} × ${d}`, "out"),
    operation("mlp", "MLP, add", "unneeded", (t) => `${t} × ${dMlp} → ${t} × ${d}`, "mlp"),
  ];
}
