/** What one value inside a block is, and how it was made: each operation as a formula with this value's own numbers. Pure. */

import { kvHeadOf, readersOf } from "../../../shared/facts/attention.js";
import { counted, fixed, quoted, significant } from "../../../shared/facts/format.js";
import { ACTIVATIONS } from "../../../shared/log/activations.js";
import { lineOf } from "./scene.js";

/**
 * @param {Object} scene from blockScene
 * @param {{tensor: string, part: number|null, index: number|null, key: number|null}} place from hitBlock
 * @returns {{title: string, value: string, notes: string[]}}
 */
export function valueFacts(scene, place) {
  if (place.key !== null && place.key > scene.query) return masked(scene, place);
  const tensor = scene.values[place.tensor];
  if (!tensor)
    return { title: place.tensor, value: "not here", notes: ["The log does not hold these values; the model does."] };
  return FACTS[place.tensor](scene, place);
}

/** @returns {number|null} the value at a place, null where there is none */
export function valueAt({ values }, { tensor, part, index, key }) {
  const found = values[tensor];
  if (!found) return null;
  const line = [part, tensor.startsWith("cache.") ? key : null].filter((i) => i !== null);
  return lineOf(found, ...line)[index ?? key] ?? null;
}

function masked({ run, query }, { key }) {
  return {
    title: "Masked",
    value: "no value",
    notes: [`${quoted(run.tokens[query])} may not read ${quoted(run.tokens[key])}, which comes after it`],
  };
}

const row = (scene) => `row of ${quoted(scene.run.tokens[scene.query])}`;
const vector = (scene, place, name) => ({
  title: `${name}, number ${place.index} of ${scene.values[place.tensor].shape.at(-1)}`,
  value: significant(valueAt(scene, place)),
});
const headed = (scene, place, name) => ({
  title: `${name}, number ${place.index} of ${scene.dims.headDim}`,
  value: significant(valueAt(scene, place)),
});
const at = (scene, tensor, { part = null, index, key = null }) => valueAt(scene, { tensor, part, index, key });
const signed = (value) => (value < 0 ? `− ${significant(-value)}` : `+ ${significant(value)}`);
const products = (count, from, matrix) => `= the sum of ${counted(count, "product")}: ${from} × a row of ${matrix}`;

const FACTS = {
  resid_in: (scene, place) => ({
    ...vector(scene, place, `What comes in: the ${row(scene)}`),
    notes: [scene.layer === 0 ? "the token's embedding" : `as layer ${scene.layer - 1} left it`],
  }),
  "attn.normed": (scene, place) => norm(scene, place, "resid_in"),
  "attn.q_rot": (scene, place) => ({
    ...headed(scene, place, `q of head ${place.part}`),
    notes: [
      products(scene.dims.d, "the row after the norm", "W_Q"),
      ...turned(scene, place, "attn.q"),
      "used in this step, then thrown away",
    ],
  }),
  "attn.k": (scene, place) => ({
    ...headed(scene, place, `k of KV head ${place.part}, before positions`),
    notes: [products(scene.dims.d, "the row after the norm", "W_K")],
  }),
  "attn.k_rot": (scene, place) => ({
    ...headed(scene, place, `k of KV head ${place.part}`),
    notes: [...turned(scene, place, "attn.k"), "goes onto the shelf, and stays"],
  }),
  "attn.v": (scene, place) => ({
    ...headed(scene, place, `v of KV head ${place.part}`),
    notes: [products(scene.dims.d, "the row after the norm", "W_V"), "goes onto the shelf, and stays"],
  }),
  "attn.scores": score,
  "attn.weights": weight,
  "attn.mixed": mixed,
  "attn.change": (scene, place) => ({
    ...vector(scene, place, "Attention's change"),
    notes: [products(scene.dims.heads * scene.dims.headDim, `the mixes of all ${scene.dims.heads} heads`, "W_O")],
  }),
  resid_mid: (scene, place) => sum(scene, place, "The row after attention", ["resid_in", "attn.change"]),
  "mlp.normed": (scene, place) => norm(scene, place, "resid_mid"),
  "mlp.gate": (scene, place) => ({
    ...vector(scene, place, "Gate"),
    notes: [products(scene.dims.d, "the row after the norm", "W_gate")],
  }),
  "mlp.raised": (scene, place) => ({
    ...vector(scene, place, "Up"),
    notes: [products(scene.dims.d, "the row after the norm", "W_up")],
  }),
  "mlp.hidden": hidden,
  "mlp.change": (scene, place) => ({
    ...vector(scene, place, "The MLP's change"),
    notes: [products(scene.dims.mlp, "the numbers inside", "W_down")],
  }),
  resid_out: (scene, place) => sum(scene, place, "What goes out", ["resid_mid", "mlp.change"]),
  "cache.k": (scene, place) => cached(scene, place, "K"),
  "cache.v": (scene, place) => cached(scene, place, "V"),
};

function sum(scene, place, name, [row, change]) {
  const [before, added] = [at(scene, row, place), at(scene, change, place)];
  return {
    ...vector(scene, place, name),
    notes: [`= ${significant(before)} ${signed(added)}: the row plus the change`],
  };
}

/** x / √(mean(x²)) · weight (RMSNorm, arXiv:1910.07467, eq. 4); LayerNorm takes the mean off first. */
function norm(scene, place, from) {
  const x = scene.values[from].data;
  const title = vector(scene, place, `The ${row(scene)} after the norm`);
  if (scene.dims.centred) {
    const mean = x.reduce((total, value) => total + value, 0) / x.length;
    const spread = Math.sqrt(x.reduce((total, value) => total + (value - mean) ** 2, 0) / x.length);
    return {
      ...title,
      notes: [
        `LayerNorm: (${significant(x[place.index])} − mean ${significant(mean)}) ÷ spread ${significant(spread)}`,
        "then × a learned weight + a learned bias",
      ],
    };
  }
  const rms = Math.sqrt(x.reduce((total, value) => total + value * value, 0) / x.length);
  return {
    ...title,
    notes: [
      `RMSNorm: ${significant(x[place.index])} ÷ ${significant(rms)} (root mean square of the row) × a learned weight`,
    ],
  };
}

/** RoPE turns numbers i and i + Dh/2 as a pair (arXiv:2104.09864). */
function turned(scene, place, before) {
  if (!scene.dims.rotary) return [];
  const half = scene.dims.headDim / 2;
  const index = place.index % half;
  const pair = (tensor) =>
    [index, index + half].map((i) => significant(at(scene, tensor, { ...place, index: i }))).join(", ");
  const turn = `(${pair(before)}) → (${pair(place.tensor)})`;
  return [`RoPE turned the pair ${index}, ${index + half} for position ${scene.query}: ${turn}`];
}

function score(scene, { part: head, key }) {
  const { run, dims, values } = scene;
  const q = lineOf(values["attn.q_rot"], head);
  const k = lineOf(values["cache.k"], kvHeadOf(run, head), key);
  const dot = q.reduce((total, value, i) => total + value * k[i], 0);
  return {
    title: `Head ${head}: how well q of ${quoted(run.tokens[scene.query])} fits k of ${quoted(run.tokens[key])}`,
    value: `score ${fixed(lineOf(values["attn.scores"], head)[key], 2)}`,
    notes: [
      `= q · k ÷ √${dims.headDim} = ${fixed(dot, 2)} ÷ ${significant(Math.sqrt(dims.headDim))}`,
      `key at position ${key}`,
    ],
  };
}

function weight(scene, { part: head, key }) {
  const { run, values, exact } = scene;
  const value = lineOf(values["attn.weights"], head)[key];
  const title = `Head ${head}: ${quoted(run.tokens[scene.query])} looks at ${quoted(run.tokens[key])}`;
  if (!exact)
    return { title, value: `weight ${fixed(value, 3)} ± 0.004`, notes: [`key at position ${key}`, "from the log"] };
  const scores = lineOf(values["attn.scores"], head);
  const largest = Math.max(...scores);
  const total = scores.reduce((sum, other) => sum + Math.exp(other - largest), 0);
  return {
    title,
    value: `weight ${fixed(value, 4)}`,
    notes: [
      `softmax: exp(${fixed(scores[key], 2)} − ${fixed(largest, 2)}) ÷ ${fixed(total, 2)}, ` +
        `the sum over ${counted(scores.length, "key")}`,
      `key at position ${key}; click for the whole sum`,
    ],
  };
}

function mixed(scene, place) {
  const { run, values } = scene;
  const weights = lineOf(values["attn.weights"], place.part);
  const kvHead = kvHeadOf(run, place.part);
  const terms = Array.from(weights, (w, key) => w * lineOf(values["cache.v"], kvHead, key)[place.index]);
  const best = terms.reduce((top, term, key) => (Math.abs(term) > Math.abs(terms[top]) ? key : top), 0);
  const v = lineOf(values["cache.v"], kvHead, best)[place.index];
  return {
    ...headed(scene, place, `Mix of head ${place.part}`),
    notes: [
      `= Σ weight × v over ${counted(terms.length, "key")}`,
      `largest term: ${fixed(weights[best], 3)} × ${significant(v)} = ${significant(terms[best])}, ` +
        `from ${quoted(run.tokens[best])}`,
    ],
  };
}

function hidden(scene, place) {
  const up = at(scene, "mlp.raised", place);
  const facts = vector(scene, place, "Inside the MLP");
  const { called, share } = ACTIVATIONS[scene.dims.activation];
  if (!scene.dims.gated) return { ...facts, notes: [`= ${called}(${significant(up)})`] };
  const gate = at(scene, "mlp.gate", place);
  const bent = significant(gate * share(gate));
  return {
    ...facts,
    notes: [`= ${called}(${significant(gate)}) × ${significant(up)} = ${bent} × ${significant(up)}`],
  };
}

function cached(scene, place, kind) {
  const { run, step } = scene;
  const [first, last] = readersOf(run, place.part);
  const written = run.stepOfQuery(place.key);
  const before =
    place.key < run.reused
      ? "read from the cache: an earlier run wrote it"
      : written === 0
        ? "written in prefill, read again"
        : `written at step ${written}, read again`;
  return {
    ...headed(scene, place, `${kind} of ${quoted(run.tokens[place.key])}, KV head ${place.part}`),
    notes: [
      run.isComputedIn(step, place.key) ? "written in this step" : before,
      `position ${place.key}; read by ${first === last ? `head ${first}` : `heads ${first}–${last}`}`,
    ],
  };
}
