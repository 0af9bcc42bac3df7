/** What a pass of a model without experts computes, as kvscope/model/native/steps.py describes it. Pure. */

/** @returns {Object<string, [number, number]>} how many numbers each value of a pass has (`pass_layout`): of every pass, of each row */
export function valuesOf(config, groups) {
  const { d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: width } = config;
  const rows = {
    ...{ normed: d, qkv: (heads + 2 * kvHeads) * width, qk: config.qk_norm ? (heads + kvHeads) * width : 0 },
    ...{ rotated: (heads + kvHeads) * width, scores: 0, weights: 0, mixed: heads * width },
    ...{ attn_raw: 0, change: d, middle: d, mlp_normed: d, gate_up: 2 * dMlp, hidden: dMlp, mlp_raw: 0 },
    ...{ mlp_change: d, ends: 2 * d, probabilities: 0, expert: 0, scratch: groups },
  };
  return Object.fromEntries(Object.entries(rows).map(([name, count]) => [name, [0, count]]));
}

/** @returns {Object<string, [string, number, number|null]>} the value, its first head or column, and the one after the last (`parts_of`) */
export function pointsOf({ heads, kv_heads: kvHeads, d_mlp: dMlp, qk_norm: hasNorm }) {
  const both = heads + kvHeads;
  const qk = hasNorm ? "qk" : "qkv";
  const whole = {
    ...{ resid_in: "", "attn.normed": "normed", "attn.scores": "scores", "attn.weights": "weights" },
    ...{ "attn.mixed": "mixed", "attn.raw_change": "attn_raw", "attn.change": "change", resid_mid: "middle" },
    ...{ "mlp.normed": "mlp_normed", "mlp.hidden": "hidden", "mlp.raw_change": "mlp_raw" },
    ...{ "mlp.probabilities": "probabilities", "mlp.chosen": "chosen", "mlp.shares": "shares" },
    ...{ "mlp.change": "mlp_change", resid_out: "ends" },
  };
  return {
    ...Object.fromEntries(Object.entries(whole).map(([point, value]) => [point, [value, 0, null]])),
    "attn.q_raw": ["qkv", 0, heads],
    "attn.k_raw": ["qkv", heads, both],
    "attn.q": [qk, 0, heads],
    "attn.k": [qk, heads, both],
    "attn.v": ["qkv", both, null],
    "attn.q_rot": ["rotated", 0, heads],
    "attn.k_rot": ["rotated", heads, both],
    "mlp.gate": ["gate_up", 0, dMlp],
    "mlp.raised": ["gate_up", dMlp, null],
  };
}
