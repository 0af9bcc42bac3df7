/**
 * Experiments: the engine serves the same requests once for each value of one setting, and the figures are compared. A new
 * experiment is an entry in `EXPERIMENTS`. Pure.
 */

import { fixed, integer, percent } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { MOST_BLOCKS, wasteOver } from "./blocks.js";
import { BUDGETED } from "./budget.js";
import {
  batchingResult,
  busyResult,
  chunkResult,
  evictionResult,
  reserveResult,
  sharingResult,
} from "./comparisons.js";
import { CONTIGUOUS } from "./contiguous.js";
import { CONVERSATION } from "./conversation.js";
import { FULL_BLOCKS } from "./full-blocks.js";
import { LOAD } from "./load.js";
import {
  busyShare,
  doneMs,
  firstTokenMs,
  fullTokensPerSecond,
  longestPrompt,
  longestWait,
  mean,
  mostAtOnce,
  mostBlocks,
  mostPositions,
  rowsComputed,
  tokensPerSecond,
} from "./measures.js";
import { letterOf } from "./owners.js";
import { PIPELINE } from "./pipeline.js";
import { CHARACTERS_PER_TOKEN, LONG, NEVER_CANCELLED } from "./prompts.js";
import { CANCEL_AND_RETRY } from "./retry.js";
import { ROUTING } from "./routing.js";
import { SEPARATE } from "./separate.js";
import { DRAFT_LAYERS, SPECULATION } from "./speculation.js";
import { STREAMING } from "./streaming.js";
import { TIERS } from "./tiers.js";
import { wholeMs } from "./whole-ms.js";

/** The most; every prompt of the form’s list is read in one pass. */
const WHOLE = 512;
const SMALL = 16;
/** Settings that would change what other experiments show, or that would not suit their numbers. */
const PLAIN = {
  contiguous: null,
  budget: null,
  prefix: /** @type {const} */ ("tokens"),
  engines: null,
  tier: /** @type {const} */ ("none"),
};
const TEMPLATE_TOKENS = 14;
const BLOCK = 16;
/** Most answers end long before this limit. */
const OPEN_TOKENS = 64;

const inPercent = (value) => percent(value, 0);

/**
 * @typedef {Object} Facts of one round
 * @property {import("./workload-log.js").Round} round
 * @property {import("./measures.js").Answer[]} answers
 * @property {Object[]} requests
 * @property {number} blockSize
 * @property {Object} model as in the `open` frame
 * @property {number[]} [received] ms at which this page got each pass, by number; from the store, all at once
 *
 * @typedef {Object} Figure
 * @property {string|((requests: Object[]) => string)} name
 * @property {string} [group] the group of answers that it is counted for, if figures of one name stand side by side
 * @property {(facts: Facts) => number|null} of
 * @property {(value: number) => string} format
 * @property {"more"|"less"} better
 * @property {boolean} [timed] it depends on measured times, so it is not judged if they are disturbed
 * @property {(before: (number|null)[], after: (number|null)[]) => string|null} [against] a text beside the figure if it
 *   contradicts the others; both arguments have one value for each figure
 *
 * @typedef {Object} Experiment
 * @property {string} id
 * @property {string} name
 * @property {string} about what is compared
 * @property {string} setting the setting that differs between the rounds
 * @property {Value[]|((layers: number) => Value[])} values one per round; `layers`: of the model
 * @property {(study: Object) => boolean} [isOf] whether a log is of this experiment, if another one has the same setting
 * @property {boolean} [alone] it has one round, and nothing is compared
 * @property {(value: *) => string} [nameOf] the name of a round with that value, where `values` depend on the model
 * @property {(value: *) => string} [shortOf] a shorter name, for the header of a narrow column
 * @property {Choice[]} [choices] numbers that the reader chooses, the same in all rounds
 * @property {import("./request-file.js").FileKind} [file] the reader can choose a file of requests; what was read is `file` of what is chosen
 * @property {(requests: Object[]) => boolean} [ofFile] whether the requests of a log are those of such a file
 * @property {(value: *, chosen: Object<string, any>) => *} [chosen] a value of the setting with these numbers
 * @property {(posted: Posted, chosen: Object<string, any>) => Posted} prepare the workload of all rounds
 * @property {Figure[]} figures the first is drawn
 * @property {string} [missing] what a figure without a value means
 * @property {string} [method] how its figures are counted
 * @property {boolean} [asInForm] its rounds have the other settings of the form
 * @property {(facts: Facts) => Object} [details] what wide-result.js shows of a round
 * @property {(...sides: Side[]) => string|null} [conclusion]
 *
 * @typedef {{value: *, name: string}} Value
 *
 * @typedef {{id: string, label: string, value: number, least: number, most: number, step: number, text?: (value: number) =>
 *   string}} Choice `value`: the first; `text`: without it, a number of tokens
 *
 * @typedef {Facts & {name: string, values: (number|null)[], details?: any}} Side a round, its name, a value per figure, and `details`
 *
 * @typedef {{system: string, requests: Object[], settings: import("./workload-log.js").Settings}} Posted
 */

/** @type {Figure} */
const UNTIL_DONE = {
  name: msg`until all are done`,
  of: ({ round }) => doneMs(round),
  format: wholeMs,
  better: "less",
  timed: true,
};
/** @type {Figure} */
const TO_FIRST_TOKEN = {
  name: msg`to the first token, on average`,
  of: meanFirstToken,
  format: wholeMs,
  better: "less",
  timed: true,
};

/** @type {Experiment[]} */
export const EXPERIMENTS = [
  {
    id: "batching",
    name: msg`Continuous batching`,
    about: msg`Static: no request joins until the whole batch is done. Continuous: requests join between two passes.`,
    setting: "batching",
    values: [
      { value: "static", name: msg`static` },
      { value: "continuous", name: msg`continuous` },
    ],
    prepare: (posted) => posted,
    conclusion: batchingResult,
    figures: [
      {
        name: msg`tokens per second`,
        of: ({ round }) => tokensPerSecond(round),
        format: oneDecimal,
        better: "more",
        timed: true,
      },
      UNTIL_DONE,
      TO_FIRST_TOKEN,
    ],
  },
  {
    id: "chunk",
    name: msg`Chunked prefill`,
    about: msg`Whole: one pass reads a long prompt, up to 512 tokens of it. Chunked: each pass reads 16 tokens of it, and other requests get tokens in between. The limit is of each request: prompts that are read at the same time add up.`,
    setting: "chunk",
    values: [
      { value: WHOLE, name: msg`whole` },
      { value: SMALL, name: msg`16 per pass` },
    ],
    prepare: withLongPrompt,
    conclusion: chunkResult,
    figures: [
      {
        name: msg`longest wait of other requests for a token while it is read`,
        of: ({ answers, round, requests }) => longestWait(answers, round, longestPrompt(requests))?.ms ?? null,
        format: wholeMs,
        better: "less",
        timed: true,
      },
      {
        name: (requests) => msg`first token of ${letterOf(longestPrompt(requests))}`,
        of: ({ answers, requests }) => firstTokenMs(answers[longestPrompt(requests)]),
        format: wholeMs,
        better: "less",
        timed: true,
      },
    ],
  },
  BUDGETED,
  {
    id: "sharing",
    name: msg`Prefix sharing`,
    about: msg`Off: each request computes its whole prompt. On: a shared prefix, such as the system prompt, is computed once.`,
    setting: "sharing",
    values: [
      { value: false, name: msg`off` },
      { value: true, name: msg`on` },
    ],
    prepare: (posted) => posted,
    conclusion: sharingResult,
    figures: [
      TO_FIRST_TOKEN,
      { name: msg`rows computed`, of: ({ round }) => rowsComputed(round), format: integer, better: "less" },
      { name: msg`blocks held at most`, of: ({ round }) => mostBlocks(round), format: integer, better: "less" },
    ],
  },
  FULL_BLOCKS,
  CONVERSATION,
  {
    id: "reserve",
    name: msg`Paged memory`,
    about: msg`Few blocks, and answers of unknown length. Reserved: a request holds blocks for 64 new tokens from its start. Paged: it gets a new block when it needs one.`,
    setting: "reserve",
    values: [
      { value: true, name: msg`reserved` },
      { value: false, name: msg`paged` },
    ],
    prepare: withLittleMemory,
    conclusion: reserveResult,
    figures: [
      {
        name: msg`waste in the held blocks, on average over the round`,
        of: meanWaste,
        format: inPercent,
        better: "less",
      },
      { name: msg`requests at once, at most`, of: ({ round }) => mostAtOnce(round), format: integer, better: "more" },
      UNTIL_DONE,
    ],
  },
  CONTIGUOUS,
  SPECULATION,
  DRAFT_LAYERS,
  STREAMING,
  CANCEL_AND_RETRY,
  {
    id: "keep",
    name: msg`Eviction`,
    about: msg`All: the cache holds every token. 4 + 60: it holds only the first 4 and the newest 60 tokens of a request. Sharing is off, because a cache with gaps cannot be shared.`,
    setting: "keep",
    values: [
      { value: null, name: msg`all` },
      { value: { sinks: 4, heavy: 0, recent: 60 }, name: "4 + 60" },
    ],
    prepare: withoutSharing,
    conclusion: evictionResult,
    figures: [
      {
        name: msg`rows that one request holds between two tokens, at most`,
        of: ({ round }) => mostPositions(round),
        format: integer,
        better: "less",
      },
      { name: msg`blocks held at most`, of: ({ round }) => mostBlocks(round), format: integer, better: "less" },
    ],
  },
  {
    id: "at-once",
    name: msg`More requests at once`,
    about: msg`All requests arrive at the same time. The engine serves 1, 2, 4 or 8 of them together. Does the share of busy time show how much more it can serve?`,
    setting: "at_once",
    values: [1, 2, 4, 8].map((value) => ({ value, name: String(value) })),
    prepare: (posted) => ({ ...posted, requests: posted.requests.map(asksAtOnce) }),
    conclusion: busyResult,
    figures: [
      {
        name: msg`tokens per second while the batch is full`,
        of: ({ round }) => fullTokensPerSecond(round),
        format: oneDecimal,
        better: "more",
        timed: true,
      },
      {
        name: msg`tokens per second over the round, with reading of prompts`,
        of: ({ round }) => tokensPerSecond(round),
        format: oneDecimal,
        better: "more",
        timed: true,
      },
      UNTIL_DONE,
      {
        name: msg`busy: share of the time in which a pass ran`,
        of: ({ round }) => busyShare(round),
        format: inPercent,
        better: "more",
        timed: true,
      },
    ],
  },
  LOAD,
  ROUTING,
  SEPARATE,
  PIPELINE,
  TIERS,
];

function oneDecimal(value) {
  return fixed(value, value < 100 ? 1 : 0);
}

function meanFirstToken({ answers }) {
  return mean(answers.map(firstTokenMs));
}

function meanWaste({ round, blockSize }) {
  return wasteOver(round, blockSize)?.share ?? null;
}

/** Turns sharing off: rows with gaps are never shared, so with it the rounds would differ in two things. */
function withoutSharing(posted) {
  return { ...posted, settings: { ...posted.settings, sharing: false } };
}

function asksAtOnce(request) {
  return { ...request, ...NEVER_CANCELLED, arrives_ms: 0 };
}

/** Replaces one prompt by a long one, unless one is long already. */
function withLongPrompt(posted) {
  const { requests } = posted;
  if (requests.some(({ prompt }) => prompt.length >= LONG.length)) return posted;
  const middle = Math.floor(requests.length / 2);
  return { ...posted, requests: requests.map((each, at) => (at === middle ? { ...each, prompt: LONG } : each)) };
}

/** Allows long answers, and blocks for only the three largest requests. */
function withLittleMemory({ system, requests, settings }) {
  const open = requests.map((request) => ({ ...request, max_new_tokens: OPEN_TOKENS }));
  const needs = open
    .map(({ prompt, max_new_tokens }) => {
      const tokens = Math.ceil((system.length + prompt.length) / CHARACTERS_PER_TOKEN) + TEMPLATE_TOKENS;
      return Math.ceil((tokens + max_new_tokens) / BLOCK);
    })
    .sort((a, b) => b - a);
  const blocks = Math.min(
    MOST_BLOCKS,
    needs.slice(0, 3).reduce((sum, need) => sum + need, 0),
  );
  return { system, requests: open, settings: { ...settings, blocks } };
}

/** @returns {{value: *, name: string}[]} one per round of an experiment with a model of so many layers */
export function valuesOf({ values }, layers) {
  return typeof values === "function" ? values(layers) : values;
}

/**
 * @param {Experiment} experiment
 * @returns {Object<string, number>} its numbers before the reader changes them
 */
export function firstChoices(experiment) {
  return Object.fromEntries((experiment.choices ?? []).map(({ id, value }) => [id, value]));
}

/**
 * Builds the request body of an experiment. Its rounds have the plain values, whatever the form says, except of the setting compared,
 * or those of the form (`asInForm`).
 *
 * @param {Experiment} experiment
 * @param {Posted} posted
 * @param {number} layers of the model
 * @param {Object<string, any>} [chosen] by the reader
 * @returns {{system: string, requests: Object[], rounds: Object[]}} what is posted
 */
export function bodyOf(experiment, posted, layers, chosen = firstChoices(experiment)) {
  const { system, requests, settings } = experiment.prepare(posted, chosen);
  const { setting, asInForm = false, chosen: withChosen = (value) => value } = experiment;
  return {
    system,
    requests,
    rounds: valuesOf(experiment, layers).map(({ value }) => ({
      ...{ ...settings, ...(asInForm ? {} : PLAIN) },
      [setting]: withChosen(value, chosen),
    })),
  };
}
