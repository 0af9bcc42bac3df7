/**
 * How many parameters a model has, counted from its shapes, and how many of them a token uses. Exact for the families listed,
 * as `transformers` builds them; biases that a config may switch on (less than 0.1 %) are not counted. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./arithmetic.js").Term} Term
 *
 * @typedef {Object} Model
 * @property {string} name
 * @property {string} family the `model_type` that its layers are those of
 * @property {number} layers
 * @property {number} d width of a row
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} d_mlp
 * @property {number} vocab rows of the embedding table
 * @property {boolean} tied whether that table is the LM head too
 * @property {number|null} context the longest that its config names
 * @property {{tokens: number, layers: number[]}|null} window tokens that a layer of those listed keeps
 * @property {{kv_lora_rank: number, qk_rope_head_dim: number, qk_nope_head_dim: number, v_head_dim: number,
 *   q_lora_rank: number|null}|null} mla
 * @property {{experts: number, chosen: number, shared: number, d_expert: number, dense_layers: number}|null} moe `chosen`
 *   of `experts` for each token, beside those shared by all; the first `dense_layers` layers have an MLP in their place
 *
 * @typedef {Object} Kind what of a layer is not a size
 * @property {boolean} [gated] an MLP of three matrices, not two
 * @property {number} norms before and after the halves of a layer
 * @property {boolean} [centred] whether a norm shifts too, and so has two vectors
 * @property {boolean} [biased] whether every matrix of a layer has a bias
 * @property {boolean} [qkvBias]
 * @property {boolean} [outBias] of the output matrix alone
 * @property {boolean} [sinks] a learned number for each head, beside the scores
 * @property {boolean} [expertBias] of every matrix of an expert, and of the router
 * @property {boolean} [headBias] of the LM head
 * @property {boolean} [qkNorm] of each head's q and k
 * @property {boolean} [qkNormWide] of all heads' q together, and of all k
 * @property {boolean} [positions] whether positions are learned rows
 */

import { constant, joined, opened, term } from "./arithmetic.js";

const LLAMA = { gated: true, norms: 2 };
const COHERE = { gated: true, norms: 1 };
const GPT2 = { norms: 2, centred: true, biased: true, positions: true };

/** @type {Map<string, Kind>} */
export const KINDS = new Map(
  Object.entries({
    llama: LLAMA,
    mistral: LLAMA,
    mixtral: LLAMA,
    phi3: LLAMA,
    qwen2: { ...LLAMA, qkvBias: true },
    qwen3: { ...LLAMA, qkNorm: true },
    qwen3_moe: { ...LLAMA, qkNorm: true },
    gemma: LLAMA,
    gemma2: { gated: true, norms: 4 },
    gemma3_text: { gated: true, norms: 4, qkNorm: true },
    olmo2: { ...LLAMA, qkNormWide: true },
    olmo3: { ...LLAMA, qkNormWide: true },
    cohere: COHERE,
    cohere2: COHERE,
    starcoder2: { norms: 2, centred: true, biased: true },
    phi: { norms: 1, centred: true, biased: true, headBias: true },
    gpt_neox: { norms: 2, centred: true, biased: true },
    gpt_oss: { ...LLAMA, qkvBias: true, outBias: true, sinks: true, expertBias: true },
    deepseek_v2: LLAMA,
    deepseek_v3: LLAMA,
    gpt2: GPT2,
    gpt_bigcode: GPT2,
    falcon: { norms: 1, centred: true },
    falcon_40b: { norms: 2, centred: true },
  }),
);

const times = (...terms) => joined("×", "", terms);
const plus = (...terms) => joined("+", "", terms);

/**
 * @param {Model} model
 * @returns {{total: Result, active: Result, embedding: Result, experts: Result|null}} `active`: without the experts that a
 *   token does not choose; `embedding`: the table, of which a token reads one row; `experts`: all that are chosen among
 */
export function parameters(model) {
  const kind = KINDS.get(model.family);
  const [layers, d] = [term("layers", model.layers), term("d", model.d)];
  const norm = times(d, constant(kind.centred ? 2 : 1));
  const embedding = times(term("vocab", model.vocab), d);
  const shared = [
    opened("embedding", embedding),
    ...(kind.positions ? [opened("positions", times(term("context", model.context), d))] : []),
    opened("attention", times(layers, opened("attention of a layer", attention(model, kind)))),
    opened("norms", times(layers, constant(kind.norms), opened("norm", norm))),
    opened("final norm", norm),
    ...mlps(model, kind),
    ...(model.tied ? [] : [opened("LM head", times(term("vocab", model.vocab), d))]),
    ...(kind.headBias ? [term("LM head bias", model.vocab)] : []),
  ];
  if (!model.moe) return { total: plus(...shared), active: plus(...shared), embedding, experts: null };
  const { experts, chosen, dense_layers: dense } = model.moe;
  const sparse = opened("layers of experts", joined("−", "", [layers, term("dense layers", dense)]));
  const expert = opened("an expert", expertOf(d, term("expert dim", model.moe.d_expert), kind));
  const all = times(sparse, term("experts", experts), expert);
  return {
    total: plus(...shared, opened("experts", all)),
    active: plus(...shared, opened("chosen experts", times(sparse, term("chosen", chosen), expert))),
    embedding,
    experts: all,
  };
}

/** An expert, with its biases where it has any: two of its own width and one of the row's. */
function expertOf(d, inner, kind) {
  const matrices = gatedMlp(d, inner);
  return kind.expertBias
    ? plus(opened("matrices", matrices), opened("biases", plus(opened("inner", times(constant(2), inner)), d)))
    : matrices;
}

function gatedMlp(d, inner) {
  return times(constant(3), d, inner);
}

/** @returns {Result} */
function attention({ d: width, heads, kv_heads: kvHeads, head_dim: headDim, mla }, kind) {
  const [d, all] = [term("d", width), term("heads", heads)];
  if (mla) return latentAttention(d, all, mla);
  const [kv, dim] = [term("KV heads", kvHeads), term("head dim", headDim)];
  const [queries, values] = [opened("q size", times(all, dim)), opened("K and V size", times(constant(2), kv, dim))];
  const biased = kind.biased || kind.qkvBias;
  return plus(
    opened("q and output", times(constant(2), d, queries)),
    opened("k and v", times(d, values)),
    ...(biased ? [opened("q, k, v biases", plus(queries, values))] : []),
    ...(kind.biased || kind.outBias ? [term("output bias", width)] : []),
    ...(kind.sinks ? [term("sinks", heads)] : []),
    ...(kind.qkNormWide ? [opened("q and k norms", plus(queries, opened("K size", times(kv, dim))))] : []),
    ...(kind.qkNorm ? [opened("q and k norms", times(constant(2), dim))] : []),
  );
}

/** @returns {Result} of multi-head latent attention (arXiv:2405.04434): q, and K and V through their rank */
function latentAttention(d, heads, mla) {
  const [rank, rotary] = [term("KV rank", mla.kv_lora_rank), term("rotary dim", mla.qk_rope_head_dim)];
  const [nope, value] = [term("plain dim", mla.qk_nope_head_dim), term("value dim", mla.v_head_dim)];
  const query = opened("q size", times(heads, opened("q dim", plus(nope, rotary))));
  const q = term("q rank", mla.q_lora_rank);
  return plus(
    ...(mla.q_lora_rank
      ? [opened("q down", times(d, q)), opened("q norm", times(q)), opened("q up", times(q, query))]
      : [opened("q", times(d, query))]),
    opened("KV down", times(d, opened("latent dim", plus(rank, rotary)))),
    opened("KV norm", times(rank)),
    opened("KV up", times(rank, heads, opened("K and V dim", plus(nope, value)))),
    opened("output", times(heads, value, d)),
  );
}

/** @returns {Term[]} all of the MLPs but the experts that are chosen among */
function mlps({ layers, d: width, d_mlp: inner, moe }, kind) {
  const [d, mlp] = [term("d", width), term("MLP dim", inner)];
  const matrices = kind.gated ? gatedMlp(d, mlp) : times(constant(2), d, mlp);
  const one = kind.biased ? plus(opened("matrices", matrices), mlp, d) : matrices;
  if (!moe) return [opened("MLPs", times(term("layers", layers), opened("an MLP", one)))];
  const sparse = term("layers of experts", layers - moe.dense_layers);
  const expert = opened("an expert", expertOf(d, term("expert dim", moe.d_expert), kind));
  return [
    opened("MLPs", times(term("dense layers", moe.dense_layers), opened("an MLP", one))),
    opened(
      "routers",
      times(
        sparse,
        term("experts", moe.experts),
        kind.expertBias ? opened("inputs and bias", plus(d, constant(1))) : d,
      ),
    ),
    opened("shared experts", times(sparse, term("shared", moe.shared), expert)),
  ].filter(({ value }) => value > 0);
}
