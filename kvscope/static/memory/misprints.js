/** Common wrong figures for KV caches: the right one from its formula, the wrong one from the mistake behind it. Pure. */

import { requestCount, tokenCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { BITS } from "./dtypes.js";
import { batchBytes, cacheBytesPerToken, requestBytes } from "./sizes.js";

const BF16 = { dtype: "bf16" };
const ONE = { requests: 1, prefix: 0 };

/**
 * @typedef {{model: string, size: string, printed: string, wrong: number, right: import("./arithmetic.js").Result, because: string}}
 *   Misprint `wrong`: the bytes that the mistake gives; `printed`: how they are usually rounded; `because`: a sentence
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
  const half = msg`This counts only one of the two tensors K and V.`;
  const small = cache("llama-3-8b", 8192);
  const large = cache("llama-3-70b", 8192);
  const longest = cache("qwen2.5-72b", 131_072);
  const token = cacheBytesPerToken(of("llama-3-70b"), BF16);
  const chat = cache("llama-3-70b", 4000);
  const chats = batchBytes(of("llama-3-70b"), { requests: 50, prefix: 0, context: 4000 }, BF16);
  const everyHead = msg`This counts K and V for all 32 query heads, but the model has only 8 KV heads.`;
  return [
    { ...row("llama-3-8b", tokenCount(8192), "536 MB", small), wrong: small.value / 2, because: half },
    {
      ...row("llama-3-8b", tokenCount(8192), "4 GB", small),
      ...{ wrong: unshared("llama-3-8b", 8192), because: everyHead },
    },
    {
      ...row("llama-3-8b", tokenCount(1000), "524 MB", cache("llama-3-8b", 1000)),
      ...{ wrong: unshared("llama-3-8b", 1000), because: everyHead },
    },
    { ...row("llama-3-70b", tokenCount(8192), "1.34 GB", large), wrong: large.value / 2, because: half },
    { ...row("llama-3-70b", msg`one token`, "160 KB", token), wrong: token.value / 2, because: half },
    { ...row("llama-3-70b", tokenCount(4000), "640 MB", chat), wrong: chat.value / 2, because: half },
    {
      ...row("llama-3-70b", msg`${requestCount(50)} of ${tokenCount(4000)}`, "32 GB", chats),
      ...{ wrong: chats.value / 2, because: half },
    },
    { ...row("qwen2.5-72b", tokenCount(131_072), "21.5 GB", longest), wrong: longest.value / 2, because: half },
  ];
}

function row(model, size, printed, right) {
  return { model, size, printed, right };
}

/** @returns {number} bytes in the new dtype as a share of the old: 0.25 for fp32 → int8 */
export function shareOf(from, to) {
  return BITS[to] / BITS[from];
}
