/**
 * The experiment on routing: the same arrivals go to several engines in turn, to the one with the fewest requests, or to the one whose
 * cache has the most of the prompt. Its sentences count rows and hits in the log. Pure.
 */

import { integer, percent } from "../shared/facts/format.js";
import { rowCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";
import { arrivalsOf, randoms } from "./arrivals.js";
import { firstTokens, ON_BLOCKS } from "./engines.js";
import { percentile } from "./load.js";
import { doneMs, foundShare, mean, rowsComputed } from "./measures.js";
import { NEVER_CANCELLED, promptOf } from "./prompts.js";
import { wholeMs } from "./whole-ms.js";

/** Each beginning is long enough for several full blocks, and unlike the others from its first words on. */
// Not language: prompts of the model.
const BEGINNINGS = ["bookshop", "bakery", "museum", "bicycle repair shop", "library", "garden centre"].map(
  (place, at) =>
    `Number ${at + 1}. You answer the telephone of a small ${place} near the harbour. It is open from nine to six and closed on Sundays. Answer every question ` +
    `in one short and friendly sentence. If you do not know the answer, say so. Never invent a price, and never speak of anything but the ${place}.`,
);
/** So few blocks that one engine cannot keep all the beginnings beside its running requests. */
const SETTINGS = { at_once: 4, chunk: 128, blocks: 40, ...ON_BLOCKS };
const TOKENS = 12;
export const ROUTES = [
  { route: "turns", name: msg`round robin` },
  { route: "least", name: msg`fewest requests` },
  { route: "prefix", name: msg`most of the prompt` },
];

const CHOICES = [
  { id: "engines", label: msg`Engines`, value: 2, least: 2, most: 4, step: 1, text: integer },
  { id: "requests", label: msg`Requests`, value: 24, least: 8, most: 200, step: 4, text: integer },
  {
    id: "gap",
    label: msg`Between two of them, on average`,
    value: 250,
    least: 50,
    most: 2000,
    step: 50,
    text: wholeMs,
  },
];

/** An entry of the list in experiments.js. */
export const ROUTING = {
  id: "routing",
  name: msg`Which engine gets a request?`,
  about: msg`Prompts with ${BEGINNINGS.length} different long beginnings arrive at random times (Poisson). Each engine has its own cache, too small for all the beginnings. The router sends a request to the next engine (round robin), to the one with the fewest requests, or to the one whose cache has the most of its prompt, if it has at least half of it. This router looks into the caches; real ones remember what they sent where, or get reports from the engines.`,
  setting: "engines",
  values: ROUTES.map(({ route, name }) => ({ value: { count: 2, route, prefill: 0 }, name })),
  isOf: ({ rounds }) => new Set(rounds.map(({ engines }) => engines?.route)).size > 1,
  nameOf: (value) => ROUTES.find(({ route }) => route === value?.route)?.name ?? "",
  choices: CHOICES,
  chosen: (value, chosen) => ({ ...value, count: chosen.engines }),
  asInForm: true,
  prepare: withBeginnings,
  details: () => ({}),
  conclusion: (...sides) => sides.map(sentence).join(" "),
  figures: [
    {
      name: msg`rows computed`,
      of: ({ round }) => rowsComputed(round),
      format: integer,
      better: /** @type {const} */ ("less"),
    },
    {
      name: msg`prompt tokens in the cache`,
      of: foundShare,
      format: (share) => percent(share, 0),
      better: /** @type {const} */ ("more"),
    },
    {
      name: msg`time to first token, on average`,
      of: (side) => mean(firstTokens(side)),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`time to first token, 95 % of requests`,
      of: (side) => percentile(firstTokens(side), 95),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
    {
      name: msg`until all are done`,
      of: ({ round }) => doneMs(round),
      format: wholeMs,
      better: /** @type {const} */ ("less"),
      timed: true,
    },
  ],
};

/**
 * @param {{settings: import("./workload-log.js").Settings}} posted
 * @param {Object<string, number>} chosen
 */
function withBeginnings({ settings }, { requests: count, gap }) {
  const numbers = randoms(2 * count);
  const [gaps, drawn] = [numbers.slice(0, count), numbers.slice(count)];
  const arrivals = arrivalsOf(gaps, gap);
  const requests = drawn.map((number, at) => ({
    prompt: `${BEGINNINGS[Math.floor(number * BEGINNINGS.length)]}\n\n${promptOf("short", at, count)}`,
    ...{ max_new_tokens: TOKENS, arrives_ms: arrivals[at] },
    ...NEVER_CANCELLED,
  }));
  return {
    system: "",
    requests,
    settings: { ...settings, ...SETTINGS },
  };
}

function sentence(side) {
  const rows = rowCount(rowsComputed(side.round));
  const share = percent(foundShare(side), 0);
  return msg`Round “${side.name}”: ${rows} computed, ${share} of the prompt tokens were in the cache.`;
}
