/**
 * The experiment with a tier of memory below the cache: evicted blocks are lost, or stored in the host's memory or a file and copied back.
 * Its sentences compare what the log measured: copying a block back, and computing its rows. Pure.
 */

import { bytesShort, fixed, integer } from "../shared/facts/format.js";
import { matricesOf, mlpProducts } from "../shared/log/model.js";
import { blockCount, rowCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { blockBytes, copied, firstTokens, ON_BLOCKS } from "./engines.js";
import { mean, rowsComputed, rowsOf, sumOf } from "./measures.js";
import { LONG, NEVER_CANCELLED } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

/** So few blocks that no prompt is still there when it comes again. */
const SETTINGS = { at_once: 1, chunk: 128, blocks: 24, engines: null, ...ON_BLOCKS };
const [PROMPTS, TIMES, TOKENS] = [3, 3, 8];

/** An entry of the list in experiments.js. */
export const TIERS = {
  id: "tier",
  name: msg`Where evicted blocks go`,
  about: msg`${PROMPTS} long prompts come ${TIMES} times each, and the cache has room for one. Nowhere: what is evicted is computed again. Memory, file: evicted blocks are copied to other memory of this machine or to a file, and copied back when a prompt with the same beginning comes (offload). They are copied when they are evicted; vLLM and LMCache copy each block once it is computed, beside the passes.`,
  setting: "tier",
  values: [
    { value: "none", name: msg`nowhere` },
    { value: "memory", name: msg`memory` },
    { value: "file", name: msg`file` },
  ],
  asInForm: true,
  prepare: ({ settings }) => ({
    system: "",
    requests: Array.from({ length: PROMPTS * TIMES }, (_, at) => ({
      ...{ prompt: `${(at % PROMPTS) + 1}. ${LONG}`, max_new_tokens: TOKENS, arrives_ms: 0 },
      ...NEVER_CANCELLED,
    })),
    settings: { ...settings, ...SETTINGS },
  }),
  details: () => ({}),
  conclusion: (none, ...tiers) => [computedText(none), ...tiers.map((side) => broughtText(side, none))].join(" "),
  figures: [
    {
      name: msg`time to first token, on average`,
      of: (side) => mean(firstTokens(side)),
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
      name: msg`blocks stored`,
      of: ({ round }) => copied(round, "stored").count,
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`blocks copied back`,
      of: ({ round }) => copied(round, "fetched").count,
      format: integer,
      better: /** @type {const} */ ("more"),
    },
    {
      name: msg`bytes copied back`,
      of: ({ round }) => copied(round, "fetched").bytes,
      format: bytesShort,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`a block is copied back in`,
      of: ({ round }) => eachMs(copied(round, "fetched")),
      format: (ms) => msg`${fixed(ms, 2)} ms`,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
  ],
};

/**
 * Estimates for a GPU: computing a token at its peak, and copying its K and V in 16 bits over a link.
 *
 * @param {Object} model as in the `open` frame
 * @param {{flops: number, link: number}} gpu operations per second, and GB per second of its link to the other memory
 * @returns {{computeUs: number, copyUs: number}} microseconds of a token; two operations for each number of the blocks’ matrices
 */
export function onGpu(model, { flops, link }) {
  const bytes = blockBytes(model, 1) / 2;
  const operations = 2 * model.layers * (matricesOf(model).attention + mlpProducts(model, Boolean(model.experts)));
  return { computeUs: (1e6 * operations) / flops, copyUs: bytes / (link * 1e3) };
}

const eachMs = ({ count, ms }) => (count ? ms / count : null);

/** @returns {{rows: number, ms: number}} of the passes that only read prompts */
function reading({ round }) {
  const passes = round.passes.filter(
    ({ members, others }) => members.length && !others.rows && members.every(({ phase }) => phase === "prefill"),
  );
  return { rows: sumOf(passes, rowsOf), ms: sumOf(passes, ({ ms }) => ms) };
}

/** @returns {number|null} ms in which the rows of a block were computed, on average */
function blockMs(side) {
  const { rows, ms } = reading(side);
  return rows ? (ms / rows) * side.blockSize : null;
}

function computedText(side) {
  const ms = blockMs(side);
  if (ms === null) return "";
  const rows = rowCount(reading(side).rows);
  return msg`Round “${side.name}”: passes that read prompts computed ${rows}, a block of ${side.blockSize} in ${fixed(ms, 1)} ms on average.`;
}

/** Both costs grow with the number of blocks, so which one is less does not depend on the length, as far as this round shows. */
function broughtText(side, none) {
  const back = copied(side.round, "fetched");
  const [one, computed] = [eachMs(back), blockMs(none)];
  if (one === null || computed === null) return msg`Round “${side.name}”: no block was copied back.`;
  const blocks = blockCount(back.count);
  const ratio = fixed(computed / one, computed / one < 10 ? 1 : 0);
  const put = eachMs(copied(side.round, "stored")) ?? 0;
  return msg`Round “${side.name}”: ${blocks} copied back, each in ${fixed(one, 2)} ms; computing it takes ${ratio} × as long. Storing a block took ${fixed(put, 2)} ms.`;
}
