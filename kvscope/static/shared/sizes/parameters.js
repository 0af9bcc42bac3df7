/**
 * Counts the parameters of a model from its shapes, and those that one token uses. They are exactly those that `transformers` builds. Pure.
 *
 * @typedef {import("./arithmetic.js").Result} Result
 * @typedef {import("./arithmetic.js").Term} Term
 *
 * @typedef {Object} Model
 * @property {string} name
 * @property {string} [family] the `model_type` whose layers it has
 * @property {number} layers
 * @property {number} d width of a row
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} d_mlp
 * @property {number} vocab rows of the embedding table
 * @property {boolean} tied whether that table is the LM head too
 * @property {number|null} context the longest that its config names
 * @property {{tokens: number, layers: number[], chunked?: boolean}|null} window tokens that each of the listed layers stores;
 *   `chunked`: a query sees its own chunk of that size instead of the newest tokens
 * @property {{kv_lora_rank: number, qk_rope_head_dim: number, qk_nope_head_dim: number, v_head_dim: number,
 *   q_lora_rank: number|null}|null} mla
 * @property {{experts: number, chosen: number, shared: number, d_expert: number, dense_layers: number, d_shared?: number,
 *   held?: number, d_held?: number}|null} moe `chosen` of `experts` for each token, plus `shared` ones; `dense_layers` layers
 * have an MLP instead; `held` and `d_held`: how many experts, or what width of each, one GPU stores, if not all
 * @property {{layers: number, key_heads: number, value_heads: number, key_dim: number, value_dim: number, kernel: number}}
 *   [linear] layers with linear attention (arXiv:2412.06464), which store a state of constant size
 * @property {number} [kv_shared] how many of the last layers use the K and V of earlier ones
 * @property {{inputs: number, rank: number, vocab: number, width: number}} [altup] rows of each token for each layer, and
 *   residual streams side by side (Gemma 3n)
 * @property {string} [published] the format of the published weights, an id of setup.js, if it is not bf16
 * @property {import("./families.js").Layer} [layer] what a layer has besides sizes, if it differs from the family or no family is named
 */

import { msg } from "../words/msg.js";
import { constant, derived, joined, term } from "./arithmetic.js";
import { FAMILIES, layerOf } from "./families.js";

const times = (...terms) => joined("×", "", terms);
const plus = (...terms) => joined("+", "", terms);

/**
 * @param {Model} given
 * @returns {{total: Result, active: Result, tables: Term[], experts: Result|null}} `active`: those that one token uses,
 *   without the experts it does not choose and the rows it does not read; `tables`: those of which a token reads single rows;
 *   `experts`: those of all experts
 */
export function parameters(given) {
  const model = { ...given, layer: given.layer ?? layerOf(FAMILIES[given.family]) };
  const kind = model.layer;
  const [layers, d] = [term(msg`layers`, model.layers), term("d", model.d)];
  const norm = times(d, constant(kind.centred ? 2 : 1));
  const embedding = derived(msg`embedding`, times(term(msg`vocab`, model.vocab), d));
  const rows = model.altup ? [derived(msg`per-layer embeddings`, rowsOfLayers(model))] : [];
  const shared = [
    embedding,
    ...(kind.positions ? [derived(msg`positions`, times(term(msg`context`, model.context), d))] : []),
    ...mixers(model, layers),
    derived(msg`norms`, times(layers, constant(kind.norms), derived(msg`norm`, norm))),
    derived(msg`final norm`, norm),
    ...mlps(model, kind),
    ...(model.altup ? streams(model, layers, d) : []),
    ...(model.tied ? [] : [derived(msg`LM head`, times(term(msg`vocab`, model.vocab), d))]),
    ...(kind.head_bias ? [term(msg`LM head bias`, model.vocab)] : []),
  ];
  const tables = [...(model.tied ? [] : [embedding]), ...rows];
  if (!model.moe) return { total: plus(...shared, ...rows), active: plus(...shared), tables, experts: null };
  const { experts, chosen, dense_layers: dense } = model.moe;
  const sparse = derived(msg`MoE layers`, joined("−", "", [layers, term(msg`dense layers`, dense)]));
  const { held = experts, d_expert, d_held = d_expert } = model.moe;
  const expert = (width) => derived(msg`one expert`, expertOf(d, term(msg`expert dim`, width), kind));
  const all = times(sparse, term(msg`experts`, held), expert(d_held));
  return {
    total: plus(...shared, ...rows, derived(msg`experts`, all)),
    active: plus(
      ...shared,
      derived(msg`active experts`, times(sparse, term(msg`active experts per token`, chosen), expert(d_expert))),
    ),
    tables,
    experts: all,
  };
}

/** @returns {Term[]} what mixes tokens in each layer: attention, linear attention, or attention over the K and V of another layer */
function mixers(model, layers) {
  const { linear, kv_shared: reusing = 0 } = model;
  if (!linear && !reusing)
    return [derived(msg`attention`, times(layers, derived(msg`attention per layer`, attention(model))))];
  const own = term(msg`attention layers`, model.layers - (linear?.layers ?? 0) - reusing);
  return [
    derived(msg`attention`, times(own, derived(msg`attention per layer`, attention(model)))),
    ...(linear
      ? [
          derived(
            msg`linear attention`,
            times(
              term(msg`linear attention layers`, linear.layers),
              derived(msg`linear attention per layer`, ofState(model)),
            ),
          ),
        ]
      : []),
    ...(reusing
      ? [
          derived(
            msg`layers that reuse K and V`,
            times(term(msg`reusing layers`, reusing), derived(msg`one reusing layer`, queriesOnly(model))),
          ),
        ]
      : []),
  ];
}

/** One expert, with its biases if it has any: two of its own width and one of the width of a row. */
function expertOf(d, inner, kind) {
  const matrices = gatedMlp(d, inner);
  return kind.expert_bias
    ? plus(
        derived(msg`matrices`, matrices),
        derived(msg`biases`, plus(derived(msg`inner`, times(constant(2), inner)), d)),
      )
    : matrices;
}

function gatedMlp(d, inner) {
  return times(constant(3), d, inner);
}

/** @returns {Result} */
function attention({ d: width, heads, kv_heads: kvHeads, head_dim: headDim, mla, layer: kind }) {
  const [d, all] = [term("d", width), term(msg`heads`, heads)];
  if (mla) return latentAttention(d, all, mla, kind);
  const [kv, dim] = [term(msg`KV heads`, kvHeads), term(msg`head dim`, headDim)];
  const [queries, values] = [
    derived(msg`q size`, times(all, dim)),
    derived(msg`K and V size`, times(constant(2), kv, dim)),
  ];
  const norms = kind.qk_norm_wide ? plus(queries, derived(msg`K size`, times(kv, dim))) : headNorms(dim, kind);
  return plus(
    derived(msg`q and output`, times(constant(2), d, queries)),
    ...(kind.gated_queries ? [derived(msg`output gate`, times(d, queries))] : []),
    derived(msg`k and v`, times(d, values)),
    ...(kind.qkv_bias ? [derived(msg`q, k, v biases`, plus(queries, values))] : []),
    ...(kind.qkv_bias && kind.gated_queries ? [derived(msg`gate bias`, times(all, dim))] : []),
    ...(kind.out_bias ? [term(msg`output bias`, width)] : []),
    ...(kind.sinks ? [term(msg`attention sinks`, heads)] : []),
    ...(kind.qk_norm_wide || kind.qk_norm ? [derived(msg`q and k norms`, norms)] : []),
  );
}

function headNorms(dim, kind) {
  return times(constant(2), dim, ...(kind.centred ? [constant(2)] : []));
}

/** @returns {Result} of multi-head latent attention (arXiv:2405.04434): q, and K and V through their rank */
function latentAttention(d, heads, mla, kind) {
  const [rank, rotary] = [term(msg`KV rank`, mla.kv_lora_rank), term(msg`rotary dim`, mla.qk_rope_head_dim)];
  const [nope, value] = [term(msg`non-rotary dim`, mla.qk_nope_head_dim), term(msg`value dim`, mla.v_head_dim)];
  const query = derived(msg`q size`, times(heads, derived(msg`q dim`, plus(nope, rotary))));
  const latent = derived(msg`latent dim`, plus(rank, rotary));
  const q = term(msg`q rank`, mla.q_lora_rank);
  return plus(
    ...(mla.q_lora_rank
      ? [
          derived(msg`q down-projection`, times(d, q)),
          derived(msg`q norm`, times(q)),
          derived(msg`q up-projection`, times(q, query)),
        ]
      : [derived("q", times(d, query))]),
    derived(msg`KV down-projection`, times(d, latent)),
    ...(kind.latent_bias ? [derived(msg`latent biases`, plus(...(mla.q_lora_rank ? [q] : []), latent))] : []),
    derived(msg`KV norm`, times(rank)),
    derived(msg`KV up-projection`, times(rank, heads, derived(msg`K and V dim`, plus(nope, value)))),
    derived(msg`output`, times(heads, value, d)),
    ...(kind.out_bias ? [d] : []),
  );
}

/** @returns {Result} of a gated delta rule: q, K, V and a gate, mixed over a few tokens by a convolution, and the decay */
function ofState({ d: width, linear }) {
  const d = term("d", width);
  const keys = derived(
    msg`key size`,
    times(term(msg`key heads`, linear.key_heads), term(msg`key dim`, linear.key_dim)),
  );
  const values = derived(
    msg`value size`,
    times(term(msg`value heads`, linear.value_heads), term(msg`value dim`, linear.value_dim)),
  );
  const [two, heads] = [constant(2), term(msg`value heads`, linear.value_heads)];
  const mixed = derived(msg`q, k and v size`, plus(derived(msg`q and k size`, times(two, keys)), values));
  return plus(
    derived(msg`q, k, v and gate`, times(d, derived(msg`total size`, plus(mixed, values)))),
    derived(msg`decay and write strength`, times(d, two, heads)),
    derived(msg`convolution`, times(mixed, term(msg`kernel`, linear.kernel))),
    derived(msg`decay parameters`, times(two, heads)),
    derived(msg`norm`, times(term(msg`value dim`, linear.value_dim))),
    derived(msg`output`, times(values, d)),
  );
}

/** @returns {Result} of a layer that has q and output alone */
function queriesOnly({ d: width, heads, head_dim: headDim, layer: kind }) {
  const queries = derived(msg`q size`, times(term(msg`heads`, heads), term(msg`head dim`, headDim)));
  return plus(
    derived(msg`q and output`, times(constant(2), term("d", width), queries)),
    ...(kind.qkv_bias ? [derived(msg`q bias`, times(term(msg`heads`, heads), term(msg`head dim`, headDim)))] : []),
    ...(kind.out_bias ? [term(msg`output bias`, width)] : []),
    ...(kind.qk_norm ? [term(msg`q norm`, headDim)] : []),
  );
}

/** @returns {Result} a table of rows for each token and layer, beside the embedding */
function rowsOfLayers(model) {
  const { vocab, width } = model.altup;
  return times(term(msg`vocab`, vocab), term(msg`layers`, model.layers), term(msg`per-layer dim`, width));
}

/** @returns {Term[]} of Gemma 3n: residual streams side by side, a low-rank step, and each layer's own rows */
function streams(model, layers, d) {
  const { altup } = model;
  const [n, rank, row] = [
    term(msg`streams`, altup.inputs),
    term(msg`rank`, altup.rank),
    term(msg`per-layer dim`, altup.width),
  ];
  const [two, n2] = [constant(2), times(term(msg`streams`, altup.inputs), term(msg`streams`, altup.inputs))];
  const others = derived(msg`other streams`, joined("−", "", [n, constant(1)]));
  const squares = derived(msg`streams²`, n2);
  return [
    derived(msg`stream projections`, times(two, others, d, d)),
    derived(
      msg`streams in all layers`,
      times(
        layers,
        derived(
          msg`streams per layer`,
          plus(
            derived(msg`prediction`, times(squares, n)),
            derived(msg`correction`, times(squares)),
            derived(msg`router`, times(n, d)),
            derived(msg`scale and norm`, times(two, d)),
          ),
        ),
      ),
    ),
    derived(
      msg`low-rank residuals`,
      times(
        layers,
        derived(
          msg`one low-rank residual`,
          plus(derived(msg`matrices`, times(two, d, rank)), derived(msg`norm`, times(d))),
        ),
      ),
    ),
    derived(
      msg`per-layer inputs`,
      times(
        layers,
        derived(
          msg`one per-layer input`,
          plus(derived(msg`matrices`, times(two, d, row)), derived(msg`norm`, times(d))),
        ),
      ),
    ),
    derived(msg`per-layer projection`, plus(derived(msg`matrix`, times(d, layers, row)), row)),
  ];
}

/** @returns {Term[]} all of the MLPs except the experts */
function mlps({ layers, d: width, d_mlp: inner, moe }, kind) {
  const [d, mlp] = [term("d", width), term(msg`MLP dim`, inner)];
  const matrices = kind.gated ? gatedMlp(d, mlp) : times(constant(2), d, mlp);
  const biases = kind.gated ? derived(msg`biases`, plus(derived(msg`inner`, times(constant(2), mlp)), d)) : null;
  const one = kind.mlp_bias ? plus(derived(msg`matrices`, matrices), ...(biases ? [biases] : [mlp, d])) : matrices;
  if (!moe) return [derived(msg`MLPs`, times(term(msg`layers`, layers), derived(msg`one MLP`, one)))];
  const sparse = term(msg`MoE layers`, layers - moe.dense_layers);
  const common = moe.d_shared ? term(msg`shared expert dim`, moe.d_shared) : term(msg`expert dim`, moe.d_expert);
  return [
    derived(msg`MLPs`, times(term(msg`dense layers`, moe.dense_layers), derived(msg`one MLP`, one))),
    derived(
      msg`routers`,
      times(
        sparse,
        term(msg`experts`, moe.experts),
        kind.expert_bias ? derived(msg`inputs and bias`, plus(d, constant(1))) : d,
      ),
    ),
    derived(
      msg`shared experts`,
      times(sparse, term(msg`shared`, moe.shared), derived(msg`one shared expert`, expertOf(d, common, kind))),
    ),
    ...(kind.shared_gate ? [derived(msg`shared expert gates`, times(sparse, d))] : []),
  ].filter(({ value }) => value > 0);
}
