/** One value inside a block and how it was computed: each operation as a formula with this value's own numbers. Pure. */

import { kvHeadOf, readersOf } from "../../../shared/facts/attention.js";
import { fixed, integer, quoted, significant } from "../../../shared/facts/format.js";
import { isComputedIn, isInherited } from "../../../shared/facts/step-rows.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { cappedText } from "../../../shared/log/model.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { lineOf, momentsOf } from "./scene.js";

/**
 * Returns what a tooltip says about one value.
 *
 * @param {Object} scene of `blockScene`
 * @param {{tensor: string, part: number|null, index: number|null, key: number|null}} place of `hitBlock`
 * @returns {{title: string, value: string, notes: string[]}}
 */
export function valueFacts(scene, place) {
  if (place.key !== null && place.key > scene.query) return masked(scene, place);
  const tensor = scene.values[place.tensor];
  if (!tensor)
    return {
      title: place.tensor,
      value: msg`not available`,
      notes: [msg`The run’s log does not store these values; the model computes them.`],
    };
  return FACTS[place.tensor](scene, place);
}

/** @returns {number|null} the value at a place; null if it has none */
export function valueAt({ values }, { tensor, part, index, key }) {
  if (!values[tensor]) return null;
  const line = [part, tensor.startsWith("cache.") ? key : null].filter((i) => i !== null);
  return lineOf(values[tensor], ...line)[index ?? key] ?? null;
}

function masked(scene, place) {
  const [query, key] = [scene.query, place.key].map((position) => tokenOf(scene, position));
  return { title: msg`Masked`, value: msg`no value`, notes: [msg`${query} cannot read ${key}, which comes later`] };
}

const tokenOf = ({ run }, position) => quoted(run.tokens[position]);
const numberTitle = (name, index, count) => msg`${name}, number ${index} of ${count}`;
const vector = (scene, place, name) => ({
  title: numberTitle(name, place.index, scene.values[place.tensor].shape.at(-1)),
  value: significant(valueAt(scene, place)),
});
const at = (scene, tensor, { part = null, index, key = null }) => valueAt(scene, { tensor, part, index, key });
const signed = (value) => (value < 0 ? `− ${significant(-value)}` : `+ ${significant(value)}`);
const products = (count, from, matrix) =>
  plural(
    count,
    form`= the sum of ${integer(count)} product: ${from} × a row of ${matrix}`,
    form`= the sum of ${integer(count)} products: ${from} × a row of ${matrix}`,
  );
const NORMED = msg`the normed row`;

const inputTitle = (scene) => msg`Input: the row of ${tokenOf(scene, scene.query)}`;
const normedTitle = (scene) => msg`The row of ${tokenOf(scene, scene.query)} after the norm`;

function headOutputs({ dims: { heads, headDim } }) {
  const from = plural(heads, form`the output of ${heads} head`, form`the outputs of ${heads} heads`);
  return products(heads * headDim, from, "W_O");
}

const FACTS = {
  resid_in: (scene, place) => ({
    ...vector(scene, place, inputTitle(scene)),
    notes: [scene.layer === 0 ? msg`the token’s embedding` : msg`the output of layer ${scene.layer - 1}`],
  }),
  "attn.normed": (scene, place) => norm(scene, place, "resid_in"),
  "attn.q_rot": (scene, place) => ({
    ...vector(scene, place, msg`q of head ${place.part}`),
    notes: [
      products(scene.dims.d, NORMED, "W_Q"),
      ...headNormed(scene),
      ...rotated(scene, place, "attn.q"),
      msg`used in this step, then discarded`,
    ],
  }),
  "attn.k": (scene, place) => ({
    ...vector(scene, place, msg`k of KV head ${place.part}, before RoPE`),
    notes: [products(scene.dims.d, NORMED, "W_K"), ...headNormed(scene)],
  }),
  "attn.k_rot": (scene, place) => ({
    ...vector(scene, place, msg`k of KV head ${place.part}`),
    notes: [...rotated(scene, place, "attn.k"), msg`stored in the KV cache`],
  }),
  "attn.v": (scene, place) => ({
    ...vector(scene, place, msg`v of KV head ${place.part}`),
    notes: [products(scene.dims.d, NORMED, "W_V"), msg`stored in the KV cache`],
  }),
  "attn.scores": score,
  "attn.weights": weight,
  "attn.mixed": headOutput,
  "attn.change": (scene, place) => ({
    ...vector(scene, place, msg`Attention’s change`),
    notes: [headOutputs(scene), ...normedAfter(scene)],
  }),
  resid_mid: (scene, place) => sum(scene, place, msg`The row after attention`, ["resid_in", "attn.change"]),
  "mlp.normed": (scene, place) => norm(scene, place, scene.dims.parallel ? "resid_in" : "resid_mid"),
  "mlp.probabilities": probability,
  "mlp.gate": (scene, place) => ({
    ...vector(scene, place, inExpert(scene, place, msg`Gate`)),
    notes: [products(scene.dims.d, NORMED, "W_gate")],
  }),
  "mlp.raised": (scene, place) => ({
    ...vector(scene, place, inExpert(scene, place, msg`Up`)),
    notes: [products(scene.dims.d, NORMED, "W_up")],
  }),
  "mlp.hidden": hidden,
  "mlp.change": (scene, place) => ({
    ...vector(scene, place, msg`The MLP’s change`),
    notes: [
      scene.dims.experts
        ? msg`= Σ over the chosen experts: share × the sum of ${integer(scene.dims.mlp)} products with a row of its W_down`
        : products(scene.dims.mlp, msg`the MLP’s inner numbers`, "W_down"),
      ...normedAfter(scene),
    ],
  }),
  resid_out: (scene, place) => sum(scene, place, msg`Output row`, ["resid_mid", "mlp.change"]),
  "cache.k": (scene, place) => cachedVector(scene, place, "K"),
  "cache.v": (scene, place) => cachedVector(scene, place, "V"),
};

const normedAfter = ({ dims }) => (dims.postNorms ? [msg`then normed before it is added to the row`] : []);

const headNormed = ({ dims }) => (dims.headNorms ? [msg`then normed over the numbers of its head`] : []);

function sum(scene, place, name, [row, change]) {
  const [before, added] = [at(scene, row, place), at(scene, change, place)];
  return {
    ...vector(scene, place, name),
    notes: [msg`= ${significant(before)} ${signed(added)}: the row plus the change`],
  };
}

/** x / √(mean(x²)) · weight (RMSNorm, arXiv:1910.07467, eq. 4); LayerNorm subtracts the mean first. */
function norm(scene, place, from) {
  const x = scene.values[from].data;
  const { centred } = scene.dims;
  const { mean, square } = momentsOf(x, centred);
  const [value, root] = [x[place.index], Math.sqrt(square)].map((number) => significant(number));
  return {
    ...vector(scene, place, normedTitle(scene)),
    notes: centred
      ? [
          msg`LayerNorm: (${value} − mean ${significant(mean)}) ÷ standard deviation ${root}`,
          msg`then × a learned weight + a learned bias`,
        ]
      : [msg`RMSNorm: ${value} ÷ ${root} (root mean square of the row) × a learned weight`],
  };
}

/** RoPE rotates numbers i and i + Dh/2 as a pair (arXiv:2104.09864). */
function rotated(scene, place, before) {
  if (!scene.dims.rotary) return [];
  const half = scene.dims.headDim / 2;
  const index = place.index % half;
  const pair = (tensor) =>
    [index, index + half].map((i) => significant(at(scene, tensor, { ...place, index: i }))).join(", ");
  const [from, to] = [pair(before), pair(place.tensor)];
  if (from === to) return [msg`RoPE leaves the pair ${index}, ${index + half} as it is`];
  const turn = `(${from}) → (${to})`;
  return [msg`RoPE rotated the pair ${index}, ${index + half} for position ${scene.query}: ${turn}`];
}

function score(scene, { part: head, key }) {
  const { run, dims, values } = scene;
  const q = lineOf(values["attn.q_rot"], head);
  const k = lineOf(values["cache.k"], kvHeadOf(run, head), key);
  const [queryToken, keyToken] = [scene.query, key].map((position) => tokenOf(scene, position));
  const value = fixed(lineOf(values["attn.scores"], head)[key], 2);
  const dot = q.reduce((total, value, i) => total + value * k[i], 0);
  const uncapped = fixed(dot / Math.sqrt(dims.scoreWidth), 2);
  return {
    title: msg`Head ${head}: score of q of ${queryToken} and k of ${keyToken}`,
    value: msg`score ${value}`,
    notes: [
      `= q · k ÷ √${dims.scoreWidth} = ${fixed(dot, 2)} ÷ ${significant(Math.sqrt(dims.scoreWidth))}`,
      ...(dims.scoreCap ? [msg`= ${uncapped}, then capped: ${cappedText(uncapped, dims.scoreCap)}`] : []),
      msg`key at position ${key}`,
    ],
  };
}

function weight(scene, { part: head, key }) {
  const { values, exact } = scene;
  const value = lineOf(values["attn.weights"], head)[key];
  const [queryToken, keyToken] = [scene.query, key].map((position) => tokenOf(scene, position));
  const title = msg`Head ${head}: ${queryToken} looks at ${keyToken}`;
  if (!exact)
    return {
      title,
      value: msg`weight ${fixed(value, 3)} ± 0.004`,
      notes: [msg`key at position ${key}`, msg`from the log`],
    };
  const scores = lineOf(values["attn.scores"], head).subarray(scene.first);
  const largest = Math.max(...scores);
  const total = scores.reduce((sum, other) => sum + Math.exp(other - largest), 0);
  return {
    title,
    value: msg`weight ${fixed(value, 4)}`,
    notes: [
      softmaxText(scores.length, scores[key - scene.first], largest, total),
      msg`key at position ${key}; press to see the whole sum`,
    ],
  };
}

function softmaxText(keys, ...numbers) {
  const [score, largest, total] = numbers.map((value) => fixed(value, 2));
  return plural(
    keys,
    form`softmax: exp(${score} − ${largest}) ÷ ${total}, the sum over ${keys} key`,
    form`softmax: exp(${score} − ${largest}) ÷ ${total}, the sum over ${keys} keys`,
  );
}

function headOutput(scene, place) {
  const { run, values } = scene;
  const weights = lineOf(values["attn.weights"], place.part);
  const kvHead = kvHeadOf(run, place.part);
  const terms = Array.from(weights, (w, key) => w * lineOf(values["cache.v"], kvHead, key)[place.index]);
  const best = terms.reduce((top, term, key) => (Math.abs(term) > Math.abs(terms[top]) ? key : top), 0);
  const v = lineOf(values["cache.v"], kvHead, best)[place.index];
  const [keys, weight, term] = [terms.length - scene.first, fixed(weights[best], 3), significant(terms[best])];
  return {
    ...vector(scene, place, msg`Output of head ${place.part}`),
    notes: [
      plural(keys, form`= Σ weight × v over ${integer(keys)} key`, form`= Σ weight × v over ${integer(keys)} keys`),
      msg`largest term: ${weight} × ${significant(v)} = ${term}, from ${quoted(run.tokens[best])}`,
    ],
  };
}

/** The name of a vector inside an MLP; with experts, of the expert with rank `part`. */
function inExpert({ experts }, { part }, name) {
  return part === null ? name : msg`${name} of expert ${experts[part].expert}`;
}

/** A softmax of the router's products over all experts; the row goes through the experts with the largest. */
function probability(scene, place) {
  const chosen = scene.experts.find(({ expert }) => expert === place.index);
  const { count } = scene.dims.experts;
  return {
    title: msg`Router: probability of expert ${place.index} (experts 0 to ${count - 1})`,
    value: significant(valueAt(scene, place)),
    notes: [
      msg`softmax over all experts; each score is a sum of ${integer(scene.dims.d)} products of the normed row and W_router`,
      chosen
        ? msg`chosen for this token: its output is multiplied by ${fixed(chosen.share, 3)}`
        : msg`not chosen for this token`,
    ],
  };
}

function hidden(scene, place) {
  const up = at(scene, "mlp.raised", place);
  const facts = vector(scene, place, inExpert(scene, place, msg`Inside the MLP`));
  const { called, share } = ACTIVATIONS[scene.dims.activation];
  if (!scene.dims.gated) return { ...facts, notes: [`= ${called}(${significant(up)})`] };
  const gate = at(scene, "mlp.gate", place);
  const activated = significant(gate * share(gate));
  return {
    ...facts,
    notes: [`= ${called}(${significant(gate)}) × ${significant(up)} = ${activated} × ${significant(up)}`],
  };
}

function cachedVector(scene, place, kind) {
  const { run, step } = scene;
  const [first, last] = readersOf(run, place.part);
  const written = run.stepOfQuery(place.key);
  const before =
    place.key < run.reused
      ? msg`read from the cache; an earlier run wrote it`
      : isInherited(run, written)
        ? msg`read from the cache; the run that this one branched from wrote it in step ${written}`
        : written === 0
          ? msg`written in prefill, read again`
          : msg`written in step ${written}, read again`;
  return {
    ...vector(scene, place, msg`${kind} of ${quoted(run.tokens[place.key])}, KV head ${place.part}`),
    notes: [
      isComputedIn(run, step, place.key) ? msg`written in this step` : before,
      first === last
        ? msg`position ${place.key}; read by head ${first}`
        : msg`position ${place.key}; read by heads ${first}–${last}`,
    ],
  };
}
