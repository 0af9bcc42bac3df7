/**
 * The experiment with a request that is cancelled and sent again. Its client cancels it after some tokens, and sends it again
 * after that, so that the order is the same on fast and slow machines. Pure.
 */

import { integer } from "../shared/facts/format.js";
import { blockCount, rowCount, tokenCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { firstTokenMs } from "./measures.js";
import { LONG } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

const TOKENS = 24;
/** Of the cancelled request. */
const GIVES_UP_AFTER = 6;
const [FIRST, RETRY] = [0, 1];
const ASKED = { prompt: LONG, max_new_tokens: TOKENS, arrives_ms: 0, cancel_ms: null };
/** Places in the batch: enough for both requests, whatever the form says. */
const SETTINGS = { at_once: 8, chunk: 128, blocks: 96, draft: null };

/** An entry of the list in experiments.js. */
export const CANCEL_AND_RETRY = {
  id: "retry",
  name: msg`Cancel and retry`,
  about: msg`A client cancels a request with a long prompt after ${GIVES_UP_AFTER} tokens, and sends it again at once. Off: nothing of it is reused. On: its rows stay in the cache, and the retry reads them.`,
  setting: "sharing",
  isOf: ({ requests }) =>
    requests.length === 2 && requests[RETRY].retry_of === FIRST && requests[FIRST].prompt === LONG,
  values: [
    { value: false, name: msg`no reuse` },
    { value: true, name: msg`reuse` },
  ],
  prepare: ({ settings }) => ({
    system: "",
    requests: [
      { ...ASKED, cancel_tokens: GIVES_UP_AFTER, retry_of: null },
      { ...ASKED, cancel_tokens: null, retry_of: FIRST },
    ],
    settings: { ...settings, ...SETTINGS },
  }),
  conclusion: (before, after) => noRetry([before, after]) ?? [freed(before), freed(after), reused(after)].join(" "),
  figures: [
    {
      name: msg`prompt rows that the retry computed`,
      of: rowsOfRetry,
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`prompt rows that it found in the cache`,
      of: sharedByRetry,
      format: integer,
      better: /** @type {const} */ ("more"),
    },
    {
      name: msg`retry: to its first token`,
      of: ({ answers }) => firstTokenMs(answers[RETRY]),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`rows computed for the cancelled request`,
      of: ({ answers }) => answers[FIRST].rows,
      format: integer,
      better: /** @type {const} */ ("less"),
    },
  ],
};

function rowsOfRetry({ answers }) {
  const { reads } = answers[RETRY];
  return reads.length ? reads.reduce((sum, { rows }) => sum + rows, 0) : null;
}

function sharedByRetry({ answers }) {
  return answers[RETRY].reads.length ? answers[RETRY].shared : null;
}

/** Says why there is nothing to compare: the model may end its answer before the cancellation. */
function noRetry(sides) {
  const early = sides.find(({ answers }) => answers[FIRST].end?.what === "done");
  if (!early) return null;
  const tokens = tokenCount(early.answers[FIRST].outputs.length);
  return msg`The first answer ended by itself after ${tokens}, before its client cancelled it. So this model shows no cancellation here, only the same prompt twice.`;
}

/** Blocks that the cancellation released, as the engine counted them. */
function freed({ name, round }) {
  const cancelled = cancellation(round);
  if (!cancelled) return msg`Round “${name}”: nothing was cancelled.`;
  const { event, freeBefore } = cancelled;
  const held = blockCount(event.count);
  const [before, after, all] = [freeBefore, event.free, round.settings.blocks].map(integer);
  return event.free > freeBefore
    ? msg`Round “${name}”: the cancelled request held ${held}. Free blocks: ${before} of ${all} before, ${after} after.`
    : msg`Round “${name}”: the cancelled request held ${held}, which stay in the cache until others need them. Free blocks: ${before} of ${all} before and after.`;
}

function cancellation({ passes, settings }) {
  const at = passes.findIndex(({ events }) => events.some(({ what }) => what === "cancelled"));
  if (at < 1) return null;
  const event = passes[at].events.find(({ what }) => what === "cancelled");
  const held = new Set(passes[at - 1].requests.flatMap(({ table }) => table)).size;
  return { event, freeBefore: settings.blocks - held };
}

function reused({ answers }) {
  const { shared } = answers[RETRY];
  return shared
    ? msg`With reuse, the retry did not compute ${rowCount(shared)} of its prompt again.`
    : msg`The retry found nothing in the cache: the blocks of the cancelled request were needed in between.`;
}
