/**
 * What the model of a log is: the `model` object of its `open` frame, also where the log is older than some of its fields
 * (docs/frames.md). Pure.
 *
 * @typedef {Object} Kind what of a model is no size
 * @property {"rms"|"layer"} norm
 * @property {boolean} gated whether the MLP has a gate, and so three matrices in place of two
 * @property {"silu"|"gelu_tanh"} activation inside the MLP
 * @property {"rotary"|"learned"|"none"} positions
 * @property {boolean} qk_norm whether q and k of each head have a norm of their own
 * @property {(number|null)[]|null} windows how many keys a query of each layer sees, itself among them; null: all, as in all
 *   layers where there is no list
 * @property {boolean} tied whether the LM head is the embedding table again
 * @property {string} weight_dtype
 */

/**
 * The one place of the page that goes by the name of an architecture: what a log does not say is what the models of its time
 * were. `completed` in model/api.py does the same.
 *
 * @param {Object} model as a log has it
 * @returns {Object & Kind} nothing of it is left unsaid
 */
export function completed(model) {
  const gpt2 = model.arch === "gpt2";
  const older = {
    norm: gpt2 ? "layer" : "rms",
    gated: !gpt2,
    activation: gpt2 ? "gelu_tanh" : "silu",
    positions: gpt2 ? "learned" : "rotary",
    qk_norm: model.arch === "qwen3",
    windows: null,
    weight_dtype: "float32",
  };
  const whole = { ...model };
  for (const [name, value] of Object.entries(older)) whole[name] ??= value;
  whole.tied ??= hasOneTable(whole);
  return whole;
}

/** Whether the parameters that all else leaves are too few for an embedding table and an LM head of its own. */
function hasOneTable(model) {
  const { attention, mlp, positions } = matricesOf(model);
  return model.parameters - model.layers * (attention + mlp) - positions < 2 * model.vocab * model.d;
}

/**
 * How many numbers the matrices have (Llama: Touvron et al. 2023, section 2.2; GPT-2: Radford et al. 2019).
 *
 * @param {Object} model complete
 * @returns {{attention: number, mlp: number, positions: number}} of one layer's attention and MLP; of the learned positions
 */
export function matricesOf({ d, heads, kv_heads, head_dim, d_mlp, context, gated, positions }) {
  return {
    attention: 2 * d * head_dim * (heads + kv_heads),
    mlp: (gated ? 3 : 2) * d * d_mlp,
    positions: positions === "learned" ? context * d : 0,
  };
}
