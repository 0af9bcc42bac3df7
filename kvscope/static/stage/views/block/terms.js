/**
 * The terms whose sum is one number of a layer, with their learned weights. Pure.
 *
 * The view of a pair shows the softmax; all other operations are here. Formulas: RMSNorm
 * arXiv:1910.07467 (4), rotary positions arXiv:2104.09864 §3.2.2.
 *
 * @typedef {{tensor: string, part: number|null, index: number|null, key: number|null}} Place
 * @typedef {{name: string, value: number, place?: Place}} Factor `place`: of a number of the block
 * @typedef {{factors: Factor[], value: number, group: number|null}} Term `group`: the head it belongs to
 * @typedef {{of: string, index: number}} Request of weights, as `client.ask("weights")` takes them
 * @typedef {{formula: string, note: string, weights: string|null, matrix?: boolean, request: Request|null,
 *   terms: (learned: Object|null) => Term[]}} Calculation `weights`: their name; `matrix`: they are a row of a matrix; `terms`: from the
 *   answer to `request`
 */

import { kvHeadOf } from "../../../shared/facts/attention.js";
import { percent, significant } from "../../../shared/facts/format.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { capped, cappedText } from "../../../shared/log/model.js";
import { msg } from "../../../shared/words/msg.js";
import { MATRICES } from "./matrices.js";
import { lineOf, momentsOf } from "./scene.js";

const place = (tensor, index, part = null, key = null) => ({ tensor, part, index, key });
const product = (...factors) => ({
  factors,
  value: factors.reduce((all, factor) => all * factor.value, 1),
  group: null,
});

/** By tensor: the matrix that computes it from its input. */
const PRODUCTS = {
  "attn.q": "attn.q",
  "attn.q_raw": "attn.q",
  "attn.k": "attn.k",
  "attn.k_raw": "attn.k",
  "attn.v": "attn.v",
  "attn.change": "attn.out",
  "attn.raw_change": "attn.out",
  "mlp.gate": "mlp.gate",
  "mlp.raised": "mlp.up",
  "mlp.change": "mlp.down",
  "mlp.raw_change": "mlp.down",
};
const SUMS = { resid_mid: ["resid_in", "attn.change"], resid_out: ["resid_mid", "mlp.change"] };
const NORMS = { "attn.normed": ["attn.norm", "resid_in"], "mlp.normed": ["mlp.norm", "resid_mid"] };
/** The same where attention and MLP read the same row. */
const SAME_ROW = { ...NORMS, "mlp.normed": ["mlp.norm", "resid_in"] };
const HEAD_NORMS = { "attn.q": ["attn.q_norm", "attn.q_raw"], "attn.k": ["attn.k_norm", "attn.k_raw"] };
const POST_NORMS = {
  "attn.change": ["attn.post_norm", "attn.raw_change"],
  "mlp.change": ["mlp.post_norm", "mlp.raw_change"],
};
const ROTATED = { "attn.q_rot": "attn.q", "attn.k_rot": "attn.k" };

/**
 * Returns how one number of the layer is computed.
 *
 * @param {Object} scene of `blockScene`, with exact values
 * @param {Place} at
 * @returns {Calculation|null} null if this layer did not compute it, or the view of a pair shows it
 */
export function calculationOf(scene, at) {
  const { tensor } = at;
  const { values, dims } = scene;
  if (!values[tensor]) return null;
  if (tensor in SUMS) return sum(scene, at);
  if (tensor in NORMS) return norm(scene, at, dims.parallel ? SAME_ROW[tensor] : NORMS[tensor]);
  const ownNorm = (dims.headNorms && HEAD_NORMS[tensor]) || (dims.postNorms && POST_NORMS[tensor]);
  // A saved session does not store the input of this norm.
  if (ownNorm) return ownNorm[1] in values ? norm(scene, at, ownNorm) : null;
  if (tensor in ROTATED) return dims.rotary ? rotated(scene, at) : same(scene, at, ROTATED[tensor]);
  if (dims.experts && tensor.startsWith("mlp."))
    return tensor === "mlp.hidden" ? activated(scene, at) : sumOfExperts(scene, at);
  if (tensor in PRODUCTS) return linear(scene, at);
  if (tensor === "attn.scores") return score(scene, at);
  if (tensor === "attn.mixed") return headOutput(scene, at);
  if (tensor === "mlp.hidden") return activated(scene, at);
  return null;
}

function valueIn({ values, dims }, { tensor, part, index }) {
  const { data } = values[tensor];
  return data[(part ?? 0) * dims.headDim + index];
}

function sum(scene, { tensor, index }) {
  const [row, change] = SUMS[tensor].map((name) => ({
    name: name.startsWith("resid") ? msg`the row` : msg`the change`,
    value: scene.values[name].data[index],
    place: place(name, index),
  }));
  return withoutWeights(msg`row + change`, msg`attention and MLP each add a change to the row`, () => [
    product(row),
    product(change),
  ]);
}

/** A calculation with no learned weights. */
const withoutWeights = (formula, note, terms) => ({ formula, note, weights: null, request: null, terms });

function linear(scene, { tensor, part, index }) {
  const of = PRODUCTS[tensor];
  const { name: weights, from } = MATRICES[of];
  const { headDim } = scene.dims;
  const { data, shape } = scene.values[from];
  const byHead = shape.length === 2;
  const row = (part ?? 0) * headDim + index;
  const factor = (at) => {
    const [head, number] = [Math.floor(at / headDim), at % headDim];
    return {
      name: byHead ? msg`head ${head}, number ${number}` : `${at}`,
      value: data[at],
      place: byHead ? place(from, number, head) : place(from, at),
    };
  };
  return {
    formula: byHead ? msg`Σ outputs of all heads × weights` : msg`Σ row × weights`,
    note: msg`row ${row} of ${weights} has ${data.length} weights, one for each input number`,
    weights,
    matrix: true,
    request: { of, index: row },
    terms: ({ row: learned, bias }) => [
      ...Array.from(data, (_, at) => ({
        ...product(factor(at), { name: `${weights}[${row}][${at}]`, value: learned.data[at] }),
        group: byHead ? Math.floor(at / headDim) : null,
      })),
      ...(bias ? [product({ name: msg`bias`, value: bias.data[0] })] : []),
    ],
  };
}

function norm(scene, { part, index }, [of, from]) {
  const { dims, values } = scene;
  const x = part === null ? values[from].data : lineOf(values[from], part);
  const { centred } = dims;
  const { mean, square } = momentsOf(x, centred);
  return {
    formula: centred ? msg`(x − mean) ÷ standard deviation × weight + bias` : msg`x ÷ root mean square × weight`,
    note: centred ? msg`LayerNorm: reads only this token’s row` : msg`RMSNorm: reads only this token’s row`,
    weights: msg`the norm’s weight`,
    request: { of, index },
    terms: ({ row, bias, eps }) => [
      product(
        {
          name: centred ? msg`x − mean` : "x",
          value: x[index] - mean,
          place: place(from, index, part),
        },
        {
          name: centred ? msg`1 ÷ standard deviation` : msg`1 ÷ root mean square`,
          value: 1 / Math.sqrt(square + eps.data[0]),
        },
        { name: msg`learned weight`, value: row.data[0] },
      ),
      ...(bias ? [product({ name: msg`learned bias`, value: bias.data[0] })] : []),
    ],
  };
}

/** RoPE rotates number i together with number i + half, by an angle that grows with the position. */
function rotated(scene, { tensor, part, index }) {
  const from = ROTATED[tensor];
  const half = scene.dims.headDim / 2;
  const first = index < half;
  const other = first ? index + half : index - half;
  const factor = (at) => ({
    name: msg`number ${at} before RoPE`,
    value: valueIn(scene, place(from, at, part)),
    place: place(from, at, part),
  });
  return {
    formula: first ? "x cos θ − y sin θ" : "x cos θ + y sin θ",
    note: msg`RoPE rotates the pair ${Math.min(index, other)}, ${Math.max(index, other)} by θ = position × the pair’s angle`,
    weights: msg`the pair’s angle (fixed, not learned)`,
    request: { of: "attn.rope", index: index % half },
    terms: ({ row }) => {
      // The model computes it in 32 bits.
      const angle = Math.fround(scene.query * row.data[0]);
      const [cos, sin] = [Math.cos(angle), Math.sin(angle)];
      return [
        product(factor(index), { name: "cos θ", value: cos }),
        product(factor(other), { name: first ? "− sin θ" : "sin θ", value: first ? -sin : sin }),
      ];
    },
  };
}

/** Without rotary positions q and k stay unchanged. */
function same(scene, { part, index }, from) {
  const at = place(from, index, part);
  const term = product({ name: msg`the same number`, value: valueIn(scene, at), place: at });
  return withoutWeights(msg`unchanged`, msg`the row already contains its position`, () => [term]);
}

function score(scene, { part: head, key }) {
  const { run, values, dims } = scene;
  const kvHead = kvHeadOf(run, head);
  const [q, k] = [lineOf(values["attn.q_rot"], head), lineOf(values["cache.k"], kvHead, key)];
  const divisor = { name: `1 ÷ √${dims.scoreWidth}`, value: 1 / Math.sqrt(dims.scoreWidth) };
  const uncapped = q.reduce((all, value, at) => all + value * k[at], 0) * divisor.value;
  const share = uncapped ? capped(uncapped, dims.scoreCap) / uncapped : 1;
  const cap = dims.scoreCap ? [{ name: msg`the cap’s share`, value: share }] : [];
  const formula = `Σ q × k ÷ √${dims.scoreWidth}`;
  return withoutWeights(
    dims.scoreCap ? `s = ${formula}; ${cappedText("s", dims.scoreCap)}` : formula,
    dims.scoreCap
      ? msg`${dims.headDim} products; s = ${significant(uncapped)}, and the cap leaves ${percent(share, 1)} of it`
      : msg`${dims.headDim} products`,
    () =>
      Array.from(q, (value, at) =>
        product(
          { name: `q ${at}`, value, place: place("attn.q_rot", at, head) },
          { name: `k ${at}`, value: k[at], place: place("cache.k", at, kvHead, key) },
          divisor,
          ...cap,
        ),
      ),
  );
}

function headOutput(scene, { part: head, index }) {
  const { run, values } = scene;
  const kvHead = kvHeadOf(run, head);
  const weights = lineOf(values["attn.weights"], head);
  const term = (weight, key) =>
    product(
      { name: msg`weight on ${key}`, value: weight, place: place("attn.weights", null, head, key) },
      {
        name: msg`v of ${key}`,
        value: lineOf(values["cache.v"], kvHead, key)[index],
        place: place("cache.v", index, kvHead, key),
      },
    );
  return withoutWeights(msg`Σ weight × v`, msg`over every key that this query can read`, () =>
    Array.from(weights.subarray(scene.first), (weight, at) => term(weight, scene.first + at)),
  );
}

/** The change of an MLP with experts. Weights of one expert are not available here, so other numbers have no terms. */
function sumOfExperts({ experts, values }, { tensor, index }) {
  if (tensor !== "mlp.change" || !values["mlp.parts"]) return null;
  return withoutWeights(msg`Σ share × output`, msg`over the experts that the router chose`, () =>
    experts.map(({ expert }, rank) =>
      product(
        { name: msg`share of expert ${expert}`, value: values["mlp.shares"].data[rank] },
        { name: msg`output of expert ${expert}`, value: lineOf(values["mlp.parts"], rank)[index] },
      ),
    ),
  );
}

function activated({ values, dims }, { index, part }) {
  const activation = ACTIVATIONS[dims.activation];
  const at = (part ?? 0) * dims.mlp + index;
  const factor = (name, tensor) => ({ name, value: values[tensor].data[at], place: place(tensor, index, part) });
  const x = dims.gated ? factor(msg`gate`, "mlp.gate") : factor("x", "mlp.raised");
  const share = { name: activation.shareName(x.name), value: activation.share(x.value) };
  const formula = activation.formula(x.name);
  return withoutWeights(
    dims.gated ? msg`${formula} × up` : formula,
    dims.gated ? activation.gated : activation.name,
    () => [product(x, share, ...(dims.gated ? [factor(msg`up`, "mlp.raised")] : []))],
  );
}
