/**
 * The formulas of a transformer and its cache, as the engine computes them, with the numbers of one model. Pure.
 *
 * Those of a layer are of model/transformer.py, rope.py, small_cache.py and companding.py; those of sizes and times are the
 * calculator's (shared/sizes).
 */

import { fixed, integer } from "../../shared/facts/format.js";
import { ACTIVATIONS } from "../../shared/log/activations.js";
import { cappedText } from "../../shared/log/model.js";
import { joined, stated, term } from "../../shared/sizes/arithmetic.js";
import { vectorBytes } from "../../shared/sizes/dtypes.js";
import { cacheBytesPerToken, requestBytes, weightBytes } from "../../shared/sizes/sizes.js";
import {
  prefillFlops,
  prefillIntensity,
  stepBytes,
  stepFlops,
  stepIntensity,
  timePerToken,
  timeToFirstToken,
} from "../../shared/sizes/speed.js";
import { msg } from "../../shared/words/msg.js";
import { loopOf } from "../loop/rows.js";
import { scoreRoot } from "../reference/shapes.js";

/**
 * @typedef {{id: string, name: string, formula: string, says: string, paper?: string, place: string}} Formula `says`: what its
 *   symbols are, with the model's numbers; `paper`: an id of arXiv; `place`: the address that shows it
 *
 * @param {Object} model of an `open` frame, or as `described` gives it
 * @returns {Formula[]} those of a layer and of the next token
 */
export function layerFormulas(model) {
  const [d, dims] = [integer(model.d), integer(model.head_dim)];
  const root = scoreRoot(model);
  return [
    normFormula(model, d),
    {
      id: "projections",
      name: msg`queries, keys and values`,
      formula: "Q = x·W_Q    K = x·W_K    V = x·W_V",
      says: msg`x: a row of ${d} numbers after the norm. W_Q: ${d} × ${integer(model.heads * model.head_dim)}; W_K and W_V: ${d} × ${integer(model.kv_heads * model.head_dim)}.`,
      ...{ paper: "1706.03762", place: "/learn/04-score-weight-mix#2" },
    },
    ...(model.positions === "learned" ? [] : [ropeFormula(model)]),
    {
      id: "attention",
      name: msg`attention of one head`,
      formula: `attention(Q, K, V) = softmax(${capOf(`Q·Kᵀ ÷ ${root}`, model.score_cap)} + M)·V`,
      says: msg`${root} = ${fixed(Math.sqrt(model.score_width ?? model.head_dim), 2)}. M, the causal mask: 0 for a token itself and earlier ones, −∞ for later ones. ${integer(model.heads)} heads; each ${integer(model.heads / model.kv_heads)} of them read one of ${integer(model.kv_heads)} KV heads.`,
      ...{ paper: "1706.03762", place: "/learn/04-score-weight-mix#4" },
    },
    {
      id: "softmax",
      name: msg`Softmax`,
      // Not language: symbols.
      formula: "softmax(s)ᵢ = exp(sᵢ − max s) ÷ Σⱼ exp(sⱼ − max s)",
      says: msg`s: the scores of one query, one for each key. The weights add up to 1; subtracting the largest score changes nothing and keeps exp small.`,
      place: "/learn/04-score-weight-mix#5",
    },
    {
      id: "output",
      name: msg`output of attention`,
      formula: `x + ${normedIf(model.post_norms, "[o₁ … o_h]·W_O")}`,
      says: msg`o₁ … o_h: the outputs of ${integer(model.heads)} heads side by side, ${integer(model.heads * model.head_dim)} numbers. W_O: ${integer(model.heads * model.head_dim)} × ${d}. The result is added to the row x.`,
      ...{ paper: "1706.03762", place: "/learn/05-heads#5" },
    },
    mlpFormula(model, d),
    {
      id: "next",
      name: msg`the next token`,
      formula: `p = softmax(${capOf("norm(x)·W_lm", model.logit_cap)} ÷ temperature)`,
      says: msg`x: the last row after all ${integer(model.layers)} layers. W_lm: ${d} × ${integer(model.vocab)}, one logit for each token of the vocabulary. Top-k and top-p then cut candidates.`,
      place: "/learn/08-choosing-the-next-token#3",
    },
    {
      id: "int8",
      name: msg`int8 and int4 of a smaller cache`,
      formula: "scale = max|v| ÷ L    code = round(v ÷ scale)    v ≈ code × scale",
      says: msg`v: a key or value of ${dims} numbers with one scale, rounded to fp16. L: 127 for int8, 7 for int4. In bytes: ${integer(model.head_dim)} + 2 with int8, ${integer(model.head_dim / 2)} + 2 with int4.`,
      place: "/learn/14-fewer-heads-fewer-bits#4",
    },
    {
      id: "companding",
      name: msg`an attention weight in a log`,
      formula: "u = round(255·√w)    w ≈ (u ÷ 255)²",
      says: msg`w: a weight from 0 to 1. u: one byte in the run’s log. The error is below 0.004. Exact weights are computed again on request.`,
      place: "/#view=head",
    },
  ];
}

const capOf = (value, cap) => (cap ? cappedText(value, cap) : value);
const normedIf = (normed, change) => (normed ? `norm(${change})` : change);

function normFormula({ norm }, d) {
  const shared = { place: "/learn/07-inside-a-block#2" };
  return norm === "layer"
    ? {
        id: "norm",
        name: "LayerNorm",
        // Not language: symbols.
        formula: "y = (x − mean x) ÷ √(mean (x − mean x)² + ε) × w + b",
        says: msg`x: a row of ${d} numbers. w and b: ${d} learned numbers each. ε: a small constant.`,
        ...{ paper: "1607.06450", ...shared },
      }
    : {
        id: "norm",
        name: "RMSNorm",
        // Not language: symbols.
        formula: "y = x ÷ √(mean x² + ε) × w",
        says: msg`x: a row of ${d} numbers. w: ${d} learned numbers. ε: a small constant. Nothing is subtracted and nothing shifted.`,
        ...{ paper: "1910.07467", ...shared },
      };
}

function ropeFormula({ head_dim: dims, rotary_dim: rotated = dims }) {
  const [all, some] = [dims / 2, rotated / 2].map((pairs) => integer(pairs));
  return {
    id: "rope",
    name: "RoPE",
    // Not language: symbols.
    formula: `(qᵢ, qᵢ₊ₘ) → (qᵢ cos a − qᵢ₊ₘ sin a, qᵢ₊ₘ cos a + qᵢ sin a)    a = position × θ^(−i ÷ ${rotated === dims ? "m" : some})`,
    says:
      rotated === dims
        ? msg`m = d_head ÷ 2 = ${all} pairs, i from 0 to ${integer(dims / 2 - 1)}. θ: a number of the model; some models scale the angles. k is rotated the same way, v is not.`
        : msg`m = d_head ÷ 2 = ${all} pairs, of which the first ${some} are rotated; the others stay. θ: a number of the model. k is rotated the same way, v is not.`,
    ...{ paper: "2104.09864", place: "/learn/06-mask-and-positions#6" },
  };
}

function mlpFormula({ gated, activation, d_mlp: inner, parallel, post_norms: normed }, d) {
  const { called, gated: gatedName, name } = ACTIVATIONS[activation];
  const change = gated ? `(${called}(y·W_gate) × y·W_up)·W_down` : `${called}(y·W_up)·W_down`;
  const matrices = gated
    ? msg`W_gate and W_up: ${d} × ${integer(inner)}; W_down: ${integer(inner)} × ${d}.`
    : msg`W_up: ${d} × ${integer(inner)}; W_down: ${integer(inner)} × ${d}.`;
  return {
    id: "mlp",
    name: gated ? msg`MLP, ${gatedName}` : msg`MLP, ${name}`,
    formula: `${parallel ? "x + a" : "x"} + ${normedIf(normed, change)}`,
    says: parallel
      ? msg`y: the row x before attention, after the norm. a: the change of attention, added too. ${matrices} ${ACTIVATIONS[activation].means}.`
      : msg`y: the row x after the norm. ${matrices} ${ACTIVATIONS[activation].means}.`,
    ...{ paper: gated ? "2002.05202" : "1606.08415", place: "/learn/07-inside-a-block#3" },
  };
}

const BF16 = { dtype: "bf16" };

/**
 * @typedef {{id: string, name: string, result: import("../../shared/sizes/arithmetic.js").Result, place: string, paper?: string}} Computed
 *
 * @param {import("../../shared/sizes/parameters.js").Model} model
 * @param {{n: number, k: number, b: number, gpu: import("../../shared/sizes/layout.js").Inputs["gpu"]}} run N prompt tokens, K new ones,
 *   requests at a time
 * @returns {Computed[]} those of sizes, work and time, stored and computed in 16 bits on one GPU
 */
export function sizeFormulas(model, { n, k, b, gpu }) {
  const inputs = { context: n + k, requests: b, prefix: 0, cache: BF16, weights: BF16, gpu, gpus: 1 };
  const rows = [term("N", n), term("K", k)];
  const [memory, loop, phases] = ["/memory", `/learn/loop?n=${n}&k=${k}`, "/learn/12-two-phases#3"];
  const loops = loopOf(n, k);
  return [
    {
      id: "token",
      name: msg`cache of one token`,
      result: cacheBytesPerToken(model, BF16),
      place: memory,
      paper: "2305.13245",
    },
    {
      id: "request",
      name: msg`cache of one request that holds N + K tokens`,
      result: requestBytes(model, n + k, BF16),
      place: memory,
    },
    {
      id: "gqa",
      name: msg`query heads for each KV head`,
      result: joined("÷", "", [term("h", model.heads), term("h_kv", model.kv_heads)]),
      place: "/learn/14-fewer-heads-fewer-bits#1",
      paper: "2305.13245",
    },
    {
      id: "vector",
      name: msg`a key or value in 16 bits`,
      result: vectorBytes(term("d_head", model.head_dim), BF16),
      place: memory,
    },
    { id: "weights", name: msg`weights`, result: weightBytes(model, BF16), place: memory },
    { id: "with", name: msg`rows with a cache`, result: stated(loops.with, "rows", "N + K − 1", rows), place: loop },
    {
      id: "without",
      name: msg`rows without a cache`,
      result: stated(loops.without, "rows", "N·K + K(K − 1) ÷ 2", rows),
      place: loop,
    },
    { id: "prefill-flops", name: msg`operations of prefill`, result: prefillFlops(model, n), place: phases },
    {
      id: "step-flops",
      name: msg`operations of a decode step over N + K tokens`,
      result: stepFlops(model, inputs),
      place: phases,
    },
    {
      id: "step-bytes",
      name: msg`bytes read by a decode step over N + K tokens`,
      result: stepBytes(model, inputs),
      place: phases,
    },
    {
      id: "prefill-intensity",
      name: msg`arithmetic intensity of prefill`,
      result: prefillIntensity(model, n, inputs),
      place: memory,
    },
    {
      id: "step-intensity",
      name: msg`arithmetic intensity of a decode step over N + K tokens`,
      result: stepIntensity(model, inputs),
      place: memory,
    },
    {
      id: "prefill-time",
      name: msg`shortest time of prefill`,
      result: timeToFirstToken(model, n, inputs),
      place: memory,
    },
    {
      id: "step-time",
      name: msg`shortest time of a decode step over N + K tokens`,
      result: timePerToken(model, inputs),
      place: memory,
    },
  ];
}
