/** The symbols of the field with the numbers of one model. Pure. */

import { ACTIVATIONS } from "../../shared/log/activations.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {Object} model of an `open` frame, complete
 * @param {{n: number, t: number, b: number}} run prompt tokens, tokens so far, prompts computed together
 * @returns {{symbol: string, also: string, name: string, value: number, says: string}[]} `also`: other spellings
 */
export function symbolsOf(model, { n, t, b }) {
  const shared = model.heads / model.kv_heads;
  return [
    {
      symbol: "N",
      also: "S, seq_len",
      name: msg`prompt tokens`,
      value: n,
      says: msg`All of them go through the model at once, in prefill.`,
    },
    {
      symbol: "T",
      also: "t, context",
      name: msg`tokens so far`,
      value: t,
      says: msg`The keys that the newest token can read in a decode step, its own included.`,
    },
    {
      symbol: "B",
      also: "batch",
      name: msg`prompts computed together`,
      value: b,
      says: msg`The batch axis. This engine has none: it joins the rows of all runs in one list.`,
    },
    {
      symbol: "d",
      also: "d_model, hidden_size",
      name: msg`width`,
      value: model.d,
      says: msg`Numbers in a token’s row, the same before and after each layer.`,
    },
    {
      symbol: "L",
      also: "n_layers",
      name: msg`layers`,
      value: model.layers,
      says: msg`Each reads and writes rows of the same shape.`,
    },
    {
      symbol: "vocab",
      also: "V, vocab_size",
      name: msg`tokens in the vocabulary`,
      value: model.vocab,
      says: msg`Rows of the embedding table, and logits of a step.`,
    },
    {
      symbol: "h",
      also: "n_heads",
      name: msg`query heads`,
      value: model.heads,
      says: msg`Each has a query of its own.`,
    },
    {
      symbol: "h_kv",
      also: "n_kv_heads",
      name: msg`KV heads`,
      value: model.kv_heads,
      says:
        shared === 1
          ? msg`As many as query heads: multi-head attention (MHA).`
          : model.kv_heads === 1
            ? msg`One for all query heads: multi-query attention (MQA).`
            : msg`Each serves ${shared} query heads: grouped-query attention (GQA).`,
    },
    {
      symbol: "d_head",
      also: "d_k, head_dim",
      name: msg`head dimension`,
      value: model.head_dim,
      says: msg`Numbers in one query, key or value.`,
    },
    {
      symbol: "d_ff",
      also: "intermediate_size",
      name: msg`MLP width`,
      value: model.d_mlp,
      says: model.gated
        ? msg`GPT-2 has 4d; this model has three matrices instead of two (${ACTIVATIONS[model.activation].gated}).`
        : msg`The inner width of the MLP, ${model.d_mlp / model.d} times d.`,
    },
  ];
}
