/**
 * One decode step as eight operations: the shape of each with the cache and without one, and the largest difference between
 * the measured results of both. Pure.
 */

import { axesOf, lettersOf, sizeOf, textbookAxesAt } from "../../../shared/facts/shapes.js";
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
  const costs = [rows, keys].map((count) => layerFlops(model, count, keys, sparse));
  const shapes = [rows, keys].map((count) => {
    const letters = lettersOf(model, { rows: count, keys });
    return (axes) => axes.map((axis) => sizeOf(axis, letters)).join(" × ");
  });
  const operation = (id, name, old, write, points, product = null) => {
    const [now, without] = shapes.map(write);
    const [flops, flopsWithout] = costs.map((cost) => (product ? cost[product] : 0));
    return { id, name, old, points, now, without, flops, flopsWithout };
  };
  const row = (shape) => shape(["T", "D"]);
  const kv = ["T", axesOf("attn.k")[1]];
  const inside = sparse ? `${model.experts.chosen} × ${model.experts.width}` : model.d_mlp;
  return [
    operation("norm", msg`norm (scaling)`, "unneeded", row, ["attn.normed"]),
    operation("q", "q", "unneeded", (shape) => shape(["T", axesOf("attn.q")[1]]), ["attn.q", "attn.q_rot"], "q"),
    operation("kv", msg`k and v`, "reused", (shape) => `2 × ${shape(kv)}`, ["attn.k_rot", "attn.v"], "kv"),
    {
      ...operation("append", msg`append to K and V`, "there", () => `2 × ${shapes[1](kv)}`, []),
      now: `2 × ${held} × ${shapes[0](kv.slice(1))}`,
    },
    operation(
      "scores",
      msg`scores q·k, softmax`,
      "read",
      (shape) => shape(textbookAxesAt("attn.scores")),
      ["attn.scores", "attn.weights"],
      "scores",
    ),
    operation(
      "mix",
      msg`weighted sum of V`,
      "read",
      (shape) => shape(textbookAxesAt("attn.mixed")),
      ["attn.mixed"],
      "mix",
    ),
    operation("out", msg`output matrix, add`, "unneeded", row, ["attn.change", "resid_mid"], "out"),
    operation(
      "mlp",
      msg`MLP, add`,
      "unneeded",
      (shape) => `${shape(["T"])} × ${inside} → ${row(shape)}`,
      MLP_POINTS,
      "mlp",
    ),
  ];
}

const MLP_POINTS = ["mlp.normed", "mlp.gate", "mlp.raised", "mlp.hidden", "mlp.change", "resid_out"];

/**
 * Returns the largest differences at some hook points.
 *
 * @param {{name: string, old: Difference, new: Difference}[]} differences from `client.ask("operations")`
 * @param {string[]} points hook points of an operation; an MLP without a gate lacks some
 * @returns {{old: Difference, new: Difference}|null} the largest of them; null if nothing is computed
 * @typedef {{largest: number, size: number}} Difference
 */
export function differencesOf(differences, points) {
  const among = differences.filter(({ name }) => points.includes(name));
  if (!among.length) return null;
  const largest = (rows) => among.map((one) => one[rows]).reduce((a, b) => (b.largest > a.largest ? b : a));
  return { old: largest("old"), new: largest("new") };
}
