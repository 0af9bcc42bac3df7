/**
 * How many parameters a model has, counted from its shapes, and how many of them a token uses: exactly those that
 * `transformers` builds. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./arithmetic.js").Term} Term
 *
 * @typedef {Object} Model
 * @property {string} name
 * @property {string} [family] the `model_type` that its layers are those of
 * @property {number} layers
 * @property {number} d width of a row
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} d_mlp
 * @property {number} vocab rows of the embedding table
 * @property {boolean} tied whether that table is the LM head too
 * @property {number|null} context the longest that its config names
 * @property {{tokens: number, layers: number[], chunked?: boolean}|null} window tokens that a layer of those listed keeps;
 *   `chunked`: a query sees its own chunk of so many, and not the newest of them
 * @property {{kv_lora_rank: number, qk_rope_head_dim: number, qk_nope_head_dim: number, v_head_dim: number,
 *   q_lora_rank: number|null}|null} mla
 * @property {{experts: number, chosen: number, shared: number, d_expert: number, dense_layers: number, d_shared?: number}|null}
 *   moe `chosen` of `experts` for each token, beside those shared by all; `dense_layers` layers have an MLP in their place
 * @property {{layers: number, key_heads: number, value_heads: number, key_dim: number, value_dim: number, kernel: number}}
 *   [linear] so many layers attend linearly (arXiv:2412.06464), and keep a state that does not grow
 * @property {number} [kv_shared] so many of the last layers use the K and V of earlier ones
 * @property {{inputs: number, rank: number, vocab: number, width: number}} [altup] rows of each token for each layer, and
 *   residual streams side by side (Gemma 3n)
 * @property {import("./families.js").Layer} [layer] what of a layer is not a size, where that is not the family's own, or no family is named
 */

import { constant, joined, opened, term } from "./arithmetic.js";
import { FAMILIES, layerOf } from "./families.js";

const times = (...terms) => joined("×", "", terms);
const plus = (...terms) => joined("+", "", terms);

/**
 * @param {Model} given
 * @returns {{total: Result, active: Result, tables: Term[], experts: Result|null}} `active`: without the experts that a
 *   token does not choose, and without a layer's own rows, of which it reads one; `tables`: of which single rows are read;
 *   `experts`: all that are chosen among
 */
export function parameters(given) {
  const model = { ...given, layer: given.layer ?? layerOf(FAMILIES[given.family]) };
  const kind = model.layer;
  const [layers, d] = [term("layers", model.layers), term("d", model.d)];
  const norm = times(d, constant(kind.centred ? 2 : 1));
  const embedding = opened("embedding", times(term("vocab", model.vocab), d));
  const rows = model.altup ? [opened("rows of each layer", rowsOfLayers(model))] : [];
  const shared = [
    embedding,
    ...(kind.positions ? [opened("positions", times(term("context", model.context), d))] : []),
    ...mixers(model, layers),
    opened("norms", times(layers, constant(kind.norms), opened("norm", norm))),
    opened("final norm", norm),
    ...mlps(model, kind),
    ...(model.altup ? streams(model, layers, d) : []),
    ...(model.tied ? [] : [opened("LM head", times(term("vocab", model.vocab), d))]),
    ...(kind.head_bias ? [term("LM head bias", model.vocab)] : []),
  ];
  const tables = [...(model.tied ? [] : [embedding]), ...rows];
  if (!model.moe) return { total: plus(...shared, ...rows), active: plus(...shared), tables, experts: null };
  const { experts, chosen, dense_layers: dense } = model.moe;
  const sparse = opened("layers of experts", joined("−", "", [layers, term("dense layers", dense)]));
  const expert = opened("an expert", expertOf(d, term("expert dim", model.moe.d_expert), kind));
  const all = times(sparse, term("experts", experts), expert);
  return {
    total: plus(...shared, ...rows, opened("experts", all)),
    active: plus(...shared, opened("chosen experts", times(sparse, term("chosen", chosen), expert))),
    tables,
    experts: all,
  };
}

/** @returns {Term[]} what mixes tokens in each layer: attention, linear attention, attention over the K and V of another */
function mixers(model, layers) {
  const { linear, kv_shared: reusing = 0 } = model;
  if (!linear && !reusing)
    return [opened("attention", times(layers, opened("attention of a layer", attention(model))))];
  const own = term("attention layers", model.layers - (linear?.layers ?? 0) - reusing);
  return [
    opened("attention", times(own, opened("attention of a layer", attention(model)))),
    ...(linear
      ? [
          opened(
            "linear attention",
            times(term("linear layers", linear.layers), opened("a linear layer", ofState(model))),
          ),
        ]
      : []),
    ...(reusing
      ? [
          opened(
            "shared K and V",
            times(term("sharing layers", reusing), opened("a sharing layer", queriesOnly(model))),
          ),
        ]
      : []),
  ];
}

/** An expert, with its biases where it has any: two of its own width and one of the row's. */
function expertOf(d, inner, kind) {
  const matrices = gatedMlp(d, inner);
  return kind.expert_bias
    ? plus(opened("matrices", matrices), opened("biases", plus(opened("inner", times(constant(2), inner)), d)))
    : matrices;
}

function gatedMlp(d, inner) {
  return times(constant(3), d, inner);
}

/** @returns {Result} */
function attention({ d: width, heads, kv_heads: kvHeads, head_dim: headDim, mla, layer: kind }) {
  const [d, all] = [term("d", width), term("heads", heads)];
  if (mla) return latentAttention(d, all, mla, kind);
  const [kv, dim] = [term("KV heads", kvHeads), term("head dim", headDim)];
  const [queries, values] = [opened("q size", times(all, dim)), opened("K and V size", times(constant(2), kv, dim))];
  const norms = kind.qk_norm_wide ? plus(queries, opened("K size", times(kv, dim))) : headNorms(dim, kind);
  return plus(
    opened("q and output", times(constant(2), d, queries)),
    ...(kind.gated_queries ? [opened("gate of the output", times(d, queries))] : []),
    opened("k and v", times(d, values)),
    ...(kind.qkv_bias ? [opened("q, k, v biases", plus(queries, values))] : []),
    ...(kind.qkv_bias && kind.gated_queries ? [opened("gate's bias", times(all, dim))] : []),
    ...(kind.out_bias ? [term("output bias", width)] : []),
    ...(kind.sinks ? [term("sinks", heads)] : []),
    ...(kind.qk_norm_wide || kind.qk_norm ? [opened("q and k norms", norms)] : []),
  );
}

function headNorms(dim, kind) {
  return times(constant(2), dim, ...(kind.centred ? [constant(2)] : []));
}

/** @returns {Result} of multi-head latent attention (arXiv:2405.04434): q, and K and V through their rank */
function latentAttention(d, heads, mla, kind) {
  const [rank, rotary] = [term("KV rank", mla.kv_lora_rank), term("rotary dim", mla.qk_rope_head_dim)];
  const [nope, value] = [term("plain dim", mla.qk_nope_head_dim), term("value dim", mla.v_head_dim)];
  const query = opened("q size", times(heads, opened("q dim", plus(nope, rotary))));
  const latent = opened("latent dim", plus(rank, rotary));
  const q = term("q rank", mla.q_lora_rank);
  return plus(
    ...(mla.q_lora_rank
      ? [opened("q down", times(d, q)), opened("q norm", times(q)), opened("q up", times(q, query))]
      : [opened("q", times(d, query))]),
    opened("KV down", times(d, latent)),
    ...(kind.latent_bias ? [opened("latent biases", plus(...(mla.q_lora_rank ? [q] : []), latent))] : []),
    opened("KV norm", times(rank)),
    opened("KV up", times(rank, heads, opened("K and V dim", plus(nope, value)))),
    opened("output", times(heads, value, d)),
    ...(kind.out_bias ? [d] : []),
  );
}

/** @returns {Result} of a gated delta rule: q, K, V and a gate, mixed over a few tokens by a convolution, and the decay */
function ofState({ d: width, linear }) {
  const d = term("d", width);
  const keys = opened("key size", times(term("key heads", linear.key_heads), term("key dim", linear.key_dim)));
  const values = opened(
    "value size",
    times(term("value heads", linear.value_heads), term("value dim", linear.value_dim)),
  );
  const [two, heads] = [constant(2), term("value heads", linear.value_heads)];
  const mixed = opened("q, K and V size", plus(opened("q and K size", times(two, keys)), values));
  return plus(
    opened("q, K, V and gate", times(d, opened("their size", plus(mixed, values)))),
    opened("decay and strength", times(d, two, heads)),
    opened("convolution", times(mixed, term("kernel", linear.kernel))),
    opened("decay's own", times(two, heads)),
    opened("norm", times(term("value dim", linear.value_dim))),
    opened("output", times(values, d)),
  );
}

/** @returns {Result} of a layer that has q and output alone */
function queriesOnly({ d: width, heads, head_dim: headDim, layer: kind }) {
  const queries = opened("q size", times(term("heads", heads), term("head dim", headDim)));
  return plus(
    opened("q and output", times(constant(2), term("d", width), queries)),
    ...(kind.qkv_bias ? [opened("q bias", times(term("heads", heads), term("head dim", headDim)))] : []),
    ...(kind.out_bias ? [term("output bias", width)] : []),
    ...(kind.qk_norm ? [term("q norm", headDim)] : []),
  );
}

/** @returns {Result} a table of rows for each token and layer, beside the embedding */
function rowsOfLayers(model) {
  const { vocab, width } = model.altup;
  return times(term("vocab", vocab), term("layers", model.layers), term("row dim", width));
}

/** @returns {Term[]} of Gemma 3n: residual streams side by side, a low-rank step, and each layer's own rows */
function streams(model, layers, d) {
  const { altup } = model;
  const [n, rank, row] = [term("streams", altup.inputs), term("rank", altup.rank), term("row dim", altup.width)];
  const [two, n2] = [constant(2), times(term("streams", altup.inputs), term("streams", altup.inputs))];
  const others = opened("other streams", joined("−", "", [n, constant(1)]));
  const squares = opened("streams²", n2);
  return [
    opened("projections of streams", times(two, others, d, d)),
    opened(
      "streams of layers",
      times(
        layers,
        opened(
          "streams of a layer",
          plus(
            opened("prediction", times(squares, n)),
            opened("correction", times(squares)),
            opened("router", times(n, d)),
            opened("scale and norm", times(two, d)),
          ),
        ),
      ),
    ),
    opened(
      "low-rank steps",
      times(layers, opened("a low-rank step", plus(opened("matrices", times(two, d, rank)), opened("norm", times(d))))),
    ),
    opened(
      "use of rows",
      times(layers, opened("use of a row", plus(opened("matrices", times(two, d, row)), opened("norm", times(d))))),
    ),
    opened("projection to rows", plus(opened("matrix", times(d, layers, row)), row)),
  ];
}

/** @returns {Term[]} all of the MLPs but the experts that are chosen among */
function mlps({ layers, d: width, d_mlp: inner, moe }, kind) {
  const [d, mlp] = [term("d", width), term("MLP dim", inner)];
  const matrices = kind.gated ? gatedMlp(d, mlp) : times(constant(2), d, mlp);
  const biases = kind.gated ? opened("biases", plus(opened("inner", times(constant(2), mlp)), d)) : null;
  const one = kind.mlp_bias ? plus(opened("matrices", matrices), ...(biases ? [biases] : [mlp, d])) : matrices;
  if (!moe) return [opened("MLPs", times(term("layers", layers), opened("an MLP", one)))];
  const sparse = term("layers of experts", layers - moe.dense_layers);
  const common = moe.d_shared ? term("shared expert dim", moe.d_shared) : term("expert dim", moe.d_expert);
  return [
    opened("MLPs", times(term("dense layers", moe.dense_layers), opened("an MLP", one))),
    opened(
      "routers",
      times(
        sparse,
        term("experts", moe.experts),
        kind.expert_bias ? opened("inputs and bias", plus(d, constant(1))) : d,
      ),
    ),
    opened(
      "shared experts",
      times(sparse, term("shared", moe.shared), opened("a shared expert", expertOf(d, common, kind))),
    ),
    ...(kind.shared_gate ? [opened("gates of shared experts", times(sparse, d))] : []),
  ].filter(({ value }) => value > 0);
}
