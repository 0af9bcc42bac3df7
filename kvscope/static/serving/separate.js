/**
 * The experiment with separate prefill: two engines do both phases, or one reads the prompts and the other decodes, which gets the blocks
 * of each prompt copied. Its sentences count gaps, blocks and bytes in the log. Pure.
 */

import { bytesShort, fixed, integer } from "../shared/facts/format.js";
import { blockCount, rowCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { blockBytes, copied, firstTokens, movedRequests, ON_BLOCKS } from "./engines.js";
import { longestGap, mean, rowsComputed, sumOf } from "./measures.js";
import { LONG, NEVER_CANCELLED, promptOf } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

/** Answers that are being written while long prompts come. */
const SHORT = { count: 4, tokens: 48 };
const LONGS = { count: 5, tokens: 16, firstMs: 300, everyMs: 500 };
/** The token budget alone limits what a pass reads of prompts. */
const SETTINGS = { at_once: 8, chunk: 512, blocks: 128, ...ON_BLOCKS };
const BOTH = { count: 2, route: "least", prefill: 0 };
const APART = { count: 2, route: "least", prefill: 1 };

/** An entry of the list in experiments.js. */
export const SEPARATE = {
  id: "separate",
  name: msg`Prefill here, decode there`,
  about: msg`Two engines. Both do both: each reads prompts in chunks, in the same passes as the next tokens of its answers, with a token budget. Apart: one reads all prompts and gives first tokens, as in DistServe (with NIXL in vLLM, they come after the copy); then the blocks of the prompt are copied to the other, which decodes (disaggregation). Long prompts arrive while answers are written.`,
  setting: "engines",
  values: [
    { value: BOTH, name: msg`both do both` },
    { value: APART, name: msg`apart` },
  ],
  isOf: ({ rounds }) => rounds.some(({ engines }) => engines?.prefill > 0),
  nameOf: (value) => (value?.prefill ? msg`apart` : msg`both do both`),
  choices: [{ id: "budget", label: msg`Token budget`, value: 128, least: 16, most: 512, step: 16 }],
  asInForm: true,
  prepare: withLongPrompts,
  details: () => ({}),
  conclusion: (both, apart) => [gapText(both), gapText(apart), movedText(apart)].join(" "),
  figures: [
    {
      name: msg`longest time between two tokens of an answer`,
      of: longestGap,
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`first token of the long prompts, on average`,
      of: (side) => mean(firstTokens(side).slice(SHORT.count)),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`rows computed`,
      of: ({ round }) => rowsComputed(round),
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`bytes of K and V moved`,
      of: ({ round }) => copied(round, "moved").bytes,
      format: bytesShort,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`a request waits for its move, on average`,
      of: ({ round, requests }) => copied(round, "moved").ms / requests.length,
      format: (ms) => msg`${fixed(ms, 1)} ms`,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
  ],
};

/**
 * @param {{settings: import("./workload-log.js").Settings}} posted
 * @param {Object<string, number>} chosen
 */
function withLongPrompts({ settings }, { budget }) {
  const short = Array.from({ length: SHORT.count }, (_, at) => ({
    ...{ prompt: promptOf("short", at, SHORT.count), max_new_tokens: SHORT.tokens, arrives_ms: 0 },
    ...NEVER_CANCELLED,
  }));
  const long = Array.from({ length: LONGS.count }, (_, at) => ({
    // Numbered, so that no engine finds the prompt in its cache.
    ...{ prompt: `${at + 1}. ${LONG}`, max_new_tokens: LONGS.tokens, arrives_ms: LONGS.firstMs + at * LONGS.everyMs },
    ...NEVER_CANCELLED,
  }));
  return { system: "", requests: [...short, ...long], settings: { ...settings, ...SETTINGS, budget } };
}

function gapText(side) {
  const [gap, first] = [longestGap(side) ?? 0, mean(firstTokens(side).slice(SHORT.count)) ?? 0].map(wholeMs);
  return msg`Round “${side.name}”: at most ${gap} between two tokens; the long prompts got their first token after ${first} on average.`;
}

/** What the move costs, and that its bytes are those of the formula. */
function movedText({ name, round, model, blockSize }) {
  const { count, bytes, ms } = copied(round, "moved");
  const [blocks, all, took] = [blockCount(count), integer(bytes), wholeMs(ms)];
  const { layers, kv_heads: kvHeads, head_dim: width } = model;
  const sign = bytes === count * blockBytes(model, blockSize) ? "=" : "≠";
  const { prefill } = round.settings.engines;
  const members = round.passes.filter(({ engine }) => engine >= prefill).flatMap((pass) => pass.members);
  const moved = movedRequests(round);
  const again = members.filter(({ phase, request }) => phase === "prefill" && moved.has(request));
  const rows = rowCount(sumOf(again, (member) => member.rows));
  return msg`Round “${name}”: ${blocks} moved in ${took}: ${integer(count)} × 2 (K and V) × ${layers} layers × ${kvHeads} KV heads × ${width} numbers × 4 bytes × ${blockSize} tokens ${sign} ${all} bytes. To go on, the other engine computed ${rows}: those of unfilled or evicted blocks again, and one of each first token.`;
}
