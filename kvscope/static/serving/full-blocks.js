/**
 * The experiment with two ways to share a prefix, in little memory: token by token, as long as a request’s blocks stay together, or full
 * blocks that are found by their content and evicted one by one. Its sentences count rows and blocks in the log. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { blockCount, rowCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { eventsOf, preemptionsIn, rowsComputed, sumOf } from "./measures.js";
import { NEVER_CANCELLED, promptOf, SYSTEM } from "./prompts.js";

/** So little memory that the blocks of the three prompts do not all stay in it. */
const SETTINGS = { at_once: 2, chunk: 128, blocks: 18, draft: null, sharing: true };
const TOKENS = 16;
const TIMES = 3;
const EVERY_MS = 300;
/** The places of the longer ones among the mixed prompts. */
const LONGER = [2, 5, 8];
const PROMPTS = LONGER.map((at) => promptOf("mixed", at, LONGER.length));

/** An entry of the list in experiments.js. */
export const FULL_BLOCKS = {
  id: "prefix",
  name: msg`Token by token, or full blocks?`,
  about: msg`Three prompts with the same system prompt come ${TIMES} times each, in little memory. Token by token: requests share every equal token, and all blocks of an ended request are evicted together. Full blocks, as in vLLM: only full blocks are shared, found by a hash, and evicted one by one, the least recently used first.`,
  setting: "prefix",
  values: [
    { value: "tokens", name: msg`token by token` },
    { value: "blocks", name: msg`full blocks` },
  ],
  prepare: ({ settings }) => ({
    system: SYSTEM,
    requests: Array.from({ length: TIMES * PROMPTS.length }, (_, at) => ({
      ...{ prompt: PROMPTS[at % PROMPTS.length], max_new_tokens: TOKENS, arrives_ms: at * EVERY_MS },
      ...NEVER_CANCELLED,
    })),
    settings: { ...settings, ...SETTINGS },
  }),
  conclusion: (before, after) => [before, after].flatMap(sentences).join(" "),
  figures: [
    {
      name: msg`rows computed`,
      of: ({ round }) => rowsComputed(round),
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    { name: msg`rows found in the cache`, of: rowsFound, format: integer, better: /** @type {const} */ ("more") },
    { name: msg`cached blocks evicted`, of: blocksEvicted, format: integer, better: /** @type {const} */ ("less") },
    {
      name: msg`rows computed again after preemptions`,
      of: (side) => preemptionsIn(side).rows,
      format: integer,
      better: /** @type {const} */ ("less"),
    },
  ],
};

function counted({ round }, wanted) {
  return eventsOf(round).filter(({ what }) => what === wanted);
}

/** @returns {number} also of requests that joined again after a preemption */
function rowsFound(side) {
  return sumOf(counted(side, "shared"), ({ count }) => count);
}

function blocksEvicted(side) {
  return sumOf(counted(side, "evicted"), ({ count }) => count);
}

function sentences(side) {
  const { name } = side;
  const { times, rows } = preemptionsIn(side);
  const [found, evicted, again] = [rowCount(rowsFound(side)), blockCount(blocksEvicted(side)), rowCount(rows)];
  const number = integer(times);
  return [
    msg`Round “${name}”: ${found} found in the cache, ${evicted} evicted.`,
    times > 0 &&
      plural(
        times,
        form`After ${number} preemption, ${again} were computed again.`,
        form`After ${number} preemptions, ${again} were computed again.`,
      ),
  ].filter(Boolean);
}
