/**
 * What one number inside a block is made of, term by term, with the learned weights that made it. Pure.
 *
 * Operations that read other tokens (scores, shares) are a pair's own view; all others are here. Formulas: RMSNorm
 * arXiv:1910.07467 (4), rotary positions arXiv:2104.09864 §3.2.2.
 *
 * @typedef {{tensor: string, part: number|null, index: number|null, key: number|null}} Place
 * @typedef {{name: string, value: number, place?: Place}} Factor `place`: where it is a number of the block itself
 * @typedef {{factors: Factor[], value: number, group: number|null}} Term `group`: the head it belongs to
 * @typedef {{of: string, index: number}} Wanted weights, as client.ask("weights") takes them
 * @typedef {{formula: string, note: string, weights: string|null, matrix?: boolean, wanted: Wanted|null, terms: (learned: Object|null) => Term[]}} Making
 *   `weights`: what they are called; `matrix`: they are a row of one; `terms`: of the tensors that client.ask("weights") gave, null where nothing is wanted
 */

import { kvHeadOf } from "../../../shared/facts/attention.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { lineOf } from "./scene.js";

const place = (tensor, index, part = null, key = null) => ({ tensor, part, index, key });
const product = (...factors) => ({
  factors,
  value: factors.reduce((all, factor) => all * factor.value, 1),
  group: null,
});

/** Products of matrices: what they multiply, and what their weights are called. */
const LINEAR = {
  "attn.q": { of: "attn.q", from: "attn.normed", weights: "W_Q" },
  "attn.q_raw": { of: "attn.q", from: "attn.normed", weights: "W_Q" },
  "attn.k": { of: "attn.k", from: "attn.normed", weights: "W_K" },
  "attn.k_raw": { of: "attn.k", from: "attn.normed", weights: "W_K" },
  "attn.v": { of: "attn.v", from: "attn.normed", weights: "W_V" },
  "attn.change": { of: "attn.out", from: "attn.mixed", weights: "W_O" },
  "mlp.gate": { of: "mlp.gate", from: "mlp.normed", weights: "W_gate" },
  "mlp.raised": { of: "mlp.up", from: "mlp.normed", weights: "W_up" },
  "mlp.change": { of: "mlp.down", from: "mlp.hidden", weights: "W_down" },
};
const SUMS = { resid_mid: ["resid_in", "attn.change"], resid_out: ["resid_mid", "mlp.change"] };
const NORMS = { "attn.normed": ["attn.norm", "resid_in"], "mlp.normed": ["mlp.norm", "resid_mid"] };
const HEAD_NORMS = { "attn.q": ["attn.q_norm", "attn.q_raw"], "attn.k": ["attn.k_norm", "attn.k_raw"] };
const TURNED = { "attn.q_rot": "attn.q", "attn.k_rot": "attn.k" };

/**
 * @param {Object} scene from blockScene, with exact values
 * @param {Place} at
 * @returns {Making|null} null where nothing in this block made it, or where the pair's view opens it
 */
export function makingOf(scene, at) {
  const { tensor } = at;
  const { values, dims } = scene;
  if (!values[tensor]) return null;
  if (tensor in SUMS) return sum(scene, at);
  if (tensor in NORMS) return norm(scene, at, NORMS[tensor]);
  if (tensor in HEAD_NORMS && dims.headNorms) {
    // A stored run does not have them.
    return HEAD_NORMS[tensor][1] in values ? norm(scene, at, HEAD_NORMS[tensor]) : null;
  }
  if (tensor in TURNED) return dims.rotary ? turned(scene, at) : same(scene, at, TURNED[tensor]);
  if (tensor in LINEAR) return linear(scene, at);
  if (tensor === "attn.scores") return score(scene, at);
  if (tensor === "attn.mixed") return mixed(scene, at);
  if (tensor === "mlp.hidden") return bent(scene, at);
  return null;
}

function valueIn({ values, dims }, { tensor, part, index }) {
  const { data } = values[tensor];
  return data[(part ?? 0) * dims.headDim + index];
}

function sum(scene, { tensor, index }) {
  const [row, change] = SUMS[tensor].map((name) => ({
    name: name.startsWith("resid") ? "the row" : "the change",
    value: scene.values[name].data[index],
    place: place(name, index),
  }));
  return {
    ...{
      formula: "row + change",
      note: "the row is carried on; each half only adds to it",
      weights: null,
      wanted: null,
    },
    terms: () => [product(row), product(change)],
  };
}

function linear(scene, { tensor, part, index }) {
  const { of, from, weights } = LINEAR[tensor];
  const { headDim } = scene.dims;
  const { data, shape } = scene.values[from];
  const byHead = shape.length === 2;
  const row = (part ?? 0) * headDim + index;
  const factor = (at) => ({
    ...{ name: byHead ? `head ${Math.floor(at / headDim)}, number ${at % headDim}` : `${at}`, value: data[at] },
    place: byHead ? place(from, at % headDim, Math.floor(at / headDim)) : place(from, at),
  });
  return {
    formula: byHead ? "Σ mixes of all heads × weights" : "Σ row × weights",
    note: `row ${row} of ${weights} has ${data.length} weights, one for each number of what it is multiplied with`,
    ...{ weights, matrix: true, wanted: { of, index: row } },
    terms: ({ row: learned, bias }) => [
      ...Array.from(data, (_, at) => ({
        ...product(factor(at), { name: `${weights}[${row}][${at}]`, value: learned.data[at] }),
        group: byHead ? Math.floor(at / headDim) : null,
      })),
      ...(bias ? [product({ name: "bias", value: bias.data[0] })] : []),
    ],
  };
}

function norm(scene, { part, index }, [of, from]) {
  const { dims, values } = scene;
  const x = part === null ? values[from].data : lineOf(values[from], part);
  const { centred } = dims;
  const mean = centred ? x.reduce((total, value) => total + value, 0) / x.length : 0;
  const square = x.reduce((total, value) => total + (value - mean) ** 2, 0) / x.length;
  return {
    formula: centred ? "(x − mean) ÷ spread × weight + bias" : "x ÷ root mean square × weight",
    note: centred ? "LayerNorm: over the token’s own row alone" : "RMSNorm: over the token’s own row alone",
    ...{ weights: "the norm’s weight", wanted: { of, index } },
    terms: ({ row, bias, eps }) => [
      product(
        {
          name: centred ? "x − mean" : "x",
          value: x[index] - mean,
          place: place(from, index, part),
        },
        { name: centred ? "1 ÷ spread" : "1 ÷ root mean square", value: 1 / Math.sqrt(square + eps.data[0]) },
        { name: "learned weight", value: row.data[0] },
      ),
      ...(bias ? [product({ name: "learned bias", value: bias.data[0] })] : []),
    ],
  };
}

/** Number i is turned with number i + half: as far as the position says. */
function turned(scene, { tensor, part, index }) {
  const from = TURNED[tensor];
  const half = scene.dims.headDim / 2;
  const first = index < half;
  const other = first ? index + half : index - half;
  const factor = (at) => ({
    ...{ name: `number ${at} before`, value: valueIn(scene, place(from, at, part)), place: place(from, at, part) },
  });
  return {
    formula: first ? "x cos θ − y sin θ" : "x cos θ + y sin θ",
    note: `RoPE turns the pair ${Math.min(index, other)}, ${Math.max(index, other)} by θ = position × the pair’s angle`,
    ...{ weights: "the pair’s angle (fixed, not learned)", wanted: { of: "attn.rope", index: index % half } },
    terms: ({ row }) => {
      // As the model has it, in 32 bits.
      const angle = Math.fround(scene.query * row.data[0]);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      return [
        product(factor(index), { name: "cos θ", value: cos }),
        product(factor(other), { name: first ? "− sin θ" : "sin θ", value: first ? -sin : sin }),
      ];
    },
  };
}

/** Without rotary positions q and k go on as they are. */
function same(scene, { part, index }, from) {
  const at = place(from, index, part);
  return {
    ...{ formula: "as it is", note: "its position is in the row already", weights: null, wanted: null },
    terms: () => [product({ name: "the same number", value: valueIn(scene, at), place: at })],
  };
}

function score(scene, { part: head, key }) {
  const { run, values, dims } = scene;
  const kvHead = kvHeadOf(run, head);
  const [q, k] = [lineOf(values["attn.q_rot"], head), lineOf(values["cache.k"], kvHead, key)];
  return {
    ...{ formula: "Σ q × k ÷ √head dim", note: `${dims.headDim} products`, weights: null, wanted: null },
    terms: () =>
      Array.from(q, (value, at) =>
        product(
          { name: `q ${at}`, value, place: place("attn.q_rot", at, head) },
          { name: `k ${at}`, value: k[at], place: place("cache.k", at, kvHead, key) },
          { name: `1 ÷ √${dims.headDim}`, value: 1 / Math.sqrt(dims.headDim) },
        ),
      ),
  };
}

function mixed(scene, { part: head, index }) {
  const { run, values } = scene;
  const kvHead = kvHeadOf(run, head);
  const weights = lineOf(values["attn.weights"], head);
  return {
    ...{ formula: "Σ weight × v", note: "over every token it may look at", weights: null, wanted: null },
    terms: () =>
      Array.from(weights, (value, key) =>
        product(
          { name: `weight on ${key}`, value, place: place("attn.weights", null, head, key) },
          {
            ...{ name: `v of ${key}`, value: lineOf(values["cache.v"], kvHead, key)[index] },
            place: place("cache.v", index, kvHead, key),
          },
        ),
      ),
  };
}

function bent({ values, dims }, { index }) {
  const activation = ACTIVATIONS[dims.activation];
  const factor = (name, tensor) => ({ name, value: values[tensor].data[index], place: place(tensor, index) });
  const x = dims.gated ? factor("gate", "mlp.gate") : factor("x", "mlp.raised");
  const share = { name: activation.shareName(x.name), value: activation.share(x.value) };
  const formula = activation.formula(x.name);
  return {
    formula: dims.gated ? `${formula} × up` : formula,
    note: dims.gated ? activation.gated : activation.name,
    ...{ weights: null, wanted: null },
    terms: () => [product(x, share, ...(dims.gated ? [factor("up", "mlp.raised")] : []))],
  };
}
