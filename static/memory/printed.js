/** Figures that are often printed otherwise: the right one by its formula, the other one by the slip that gives it. Pure. */

import { BITS } from "./dtypes.js";
import { batchBytes, cacheBytesPerToken, requestBytes } from "./sizes.js";

const BF16 = { dtype: "bf16" };
const ONE = { requests: 1, prefix: 0 };

/**
 * @typedef {{model: string, of: string, printed: string, slip: number, right: import("./arithmetic.js").Result, because: string}}
 *   Misprint `slip`: bytes that the mistake gives, of which `printed` is the usual rounding
 *
 * @param {Object[]} models
 * @returns {Misprint[]}
 */
export function misprints(models) {
  const of = (id) => models.find((model) => model.id === id);
  const cache = (id, tokens) => requestBytes(of(id), tokens, BF16);
  const unshared = (id, tokens) => {
    const model = of(id);
    return batchBytes({ ...model, kv_heads: model.heads }, { ...ONE, context: tokens }, BF16).value;
  };
  const one = "K and V are two tensors, and one of them was counted.";
  const small = cache("llama-3-8b", 8192);
  const large = cache("llama-3-70b", 8192);
  const longest = cache("qwen2.5-72b", 131_072);
  const token = cacheBytesPerToken(of("llama-3-70b"), BF16);
  const all = "It is counted with 32 heads; 8 of them have K and V of their own, and the others share those.";
  return [
    { ...row("llama-3-8b", "8,192 tokens", "536 MB", small), slip: small.value / 2, because: one },
    {
      ...row("llama-3-8b", "8,192 tokens", "4 GB", small),
      ...{ slip: unshared("llama-3-8b", 8192), because: all },
    },
    {
      ...row("llama-3-8b", "1,000 tokens", "524 MB", cache("llama-3-8b", 1000)),
      ...{ slip: unshared("llama-3-8b", 1000), because: all },
    },
    { ...row("llama-3-70b", "8,192 tokens", "1.34 GB", large), slip: large.value / 2, because: one },
    { ...row("llama-3-70b", "a token", "160 KB", token), slip: token.value / 2, because: one },
    { ...row("qwen2.5-72b", "131,072 tokens", "21.5 GB", longest), slip: longest.value / 2, because: one },
  ];
}

function row(model, of, printed, right) {
  return { model, of, printed, right };
}

/** @returns {number} what of the bytes is left in another dtype: fp32 → int8 is a quarter, not a half */
export function shareOf(from, to) {
  return BITS[to] / BITS[from];
}
