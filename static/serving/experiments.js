/**
 * Experiments: the same requests once per value of one setting, and what that changed. Another setting is another entry of
 * the list. Pure.
 */

import { fixed, integer, percent } from "../shared/facts/format.js";
import { wasteOver } from "./blocks.js";
import {
  batchingSays,
  chunkSays,
  disturbedSays,
  formatsSay,
  keepSays,
  reserveSays,
  sharingSays,
} from "./comparisons.js";
import {
  busyShare,
  doneMs,
  firstWordMs,
  fullTokensPerSecond,
  longestPrompt,
  longestWait,
  mean,
  mostAtOnce,
  mostBlocks,
  mostPositions,
  rowsComputed,
  sameText,
  tokensPerSecond,
} from "./measures.js";
import { letterOf } from "./owners.js";
import { LONG } from "./prompts.js";
import { SPECULATION } from "./speculation.js";
import { answersOf } from "./tally.js";

/** Every prompt is read in one pass. */
const WHOLE = 512;
const SMALL = 16;
/** For a guess at how many tokens a text has, which decides nothing but how little memory is little. */
const CHARACTERS_PER_TOKEN = 4.2;
const TEMPLATE_TOKENS = 14;
const BLOCK = 16;
/** Most answers end by themselves long before. */
const OPEN_TOKENS = 64;

const ms = (value) => `${integer(value)} ms`;
const inPercent = (value) => percent(value, 0);

/**
 * @typedef {Object} Facts of one round
 * @property {import("../shared/log/workload.js").Round} round
 * @property {import("./measures.js").Answer[]} answers
 * @property {Object[]} requests
 * @property {number} blockSize
 *
 * @typedef {Object} Figure
 * @property {string|((requests: Object[]) => string)} name
 * @property {string} [group] what it is counted of, where the figures of a name stand side by side
 * @property {(facts: Facts) => number|null} of
 * @property {(value: number) => string} format
 * @property {"more"|"less"} better
 * @property {boolean} [timed] it depends on measured times, so it says nothing where they are disturbed
 * @property {(before: (number|null)[], after: (number|null)[]) => string|null} [against] what is said with it where it goes against the
 *   other figures, out of a value per figure
 *
 * @typedef {Object} Experiment
 * @property {string} id
 * @property {string} name
 * @property {string} about what is tried, in one sentence
 * @property {string} setting the one that differs between the rounds
 * @property {{value: *, name: string}[]} values one per round
 * @property {(posted: Posted) => Posted} prepare what else it needs, the same in all rounds
 * @property {Figure[]} figures the first is drawn
 * @property {string} [leftOut] what its figures do not count
 * @property {(before: Side, after: Side) => string|null} [says] what it comes to
 *
 * @typedef {Facts & {name: string, values: (number|null)[]}} Side a round, what it is called, and a value per figure
 *
 * @typedef {{system: string, requests: Object[], settings: import("../shared/log/workload.js").Settings}} Posted
 */

/** @type {Figure} */
const UNTIL_DONE = {
  name: "until all are done",
  of: ({ round }) => doneMs(round),
  format: ms,
  better: "less",
  timed: true,
};
/** @type {Figure} */
const TO_FIRST_TOKEN = {
  name: "to the first token, on average",
  of: meanFirstWord,
  format: ms,
  better: "less",
  timed: true,
};

/** @type {Experiment[]} */
export const EXPERIMENTS = [
  {
    id: "batching",
    name: "Continuous batching",
    about:
      "Static: nobody joins until all that are being answered are done. Continuous: people join between two passes.",
    setting: "batching",
    values: [
      { value: "static", name: "static" },
      { value: "continuous", name: "continuous" },
    ],
    prepare: (posted) => posted,
    says: batchingSays,
    figures: [
      {
        name: "tokens per second",
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
    name: "Chunked prefill",
    about: "A long prompt read in one pass, or 16 tokens of it in each, so that others get their tokens in between.",
    setting: "chunk",
    values: [
      { value: WHOLE, name: "whole" },
      { value: SMALL, name: "16 a pass" },
    ],
    prepare: withLongPrompt,
    says: chunkSays,
    figures: [
      {
        name: "longest wait of others for a token while it is read",
        of: ({ answers, round, requests }) => longestWait(answers, round, longestPrompt(requests))?.ms ?? null,
        format: ms,
        better: "less",
        timed: true,
      },
      {
        name: (requests) => `${letterOf(longestPrompt(requests))}’s own first token`,
        of: ({ answers, requests }) => firstWordMs(answers[longestPrompt(requests)]),
        format: ms,
        better: "less",
        timed: true,
      },
    ],
  },
  {
    id: "sharing",
    name: "Prefix sharing",
    about: "Whether blocks with the same beginning, such as the system prompt, are computed once and held once.",
    setting: "sharing",
    values: [
      { value: false, name: "off" },
      { value: true, name: "on" },
    ],
    prepare: (posted) => posted,
    says: sharingSays,
    figures: [
      TO_FIRST_TOKEN,
      { name: "rows computed", of: ({ round }) => rowsComputed(round), format: integer, better: "less" },
      { name: "blocks held at most", of: ({ round }) => mostBlocks(round), format: integer, better: "less" },
    ],
  },
  {
    id: "reserve",
    name: "Paged memory",
    about:
      "Little memory, and nobody knows how long an answer gets. Reserved: blocks for 64 tokens from the start. Paged: a block whenever one is needed.",
    setting: "reserve",
    values: [
      { value: true, name: "reserved" },
      { value: false, name: "paged" },
    ],
    prepare: withLittleMemory,
    says: reserveSays,
    figures: [
      { name: "waste of what is held, on average over the round", of: meanWaste, format: inPercent, better: "less" },
      { name: "answered at once, at most", of: ({ round }) => mostAtOnce(round), format: integer, better: "more" },
      UNTIL_DONE,
    ],
  },
  SPECULATION,
  {
    id: "keep",
    name: "Eviction",
    about:
      "All rows are kept, or after each token only the first 4 and the newest 60: the rest is forgotten. Nobody shares blocks here, for rows with gaps cannot be shared.",
    setting: "keep",
    values: [
      { value: null, name: "all" },
      { value: { sinks: 4, heavy: 0, recent: 60 }, name: "4 + 60" },
    ],
    prepare: withoutSharing,
    says: keepSays,
    figures: [
      {
        name: "rows one person holds between two tokens, at most",
        of: ({ round }) => mostPositions(round),
        format: integer,
        better: "less",
      },
      { name: "blocks held at most", of: ({ round }) => mostBlocks(round), format: integer, better: "less" },
    ],
  },
  {
    id: "at-once",
    name: "More people at once",
    about: "All ask at the same moment, and 1, 2, 4 or 8 are answered together.",
    setting: "at_once",
    values: [1, 2, 4, 8].map((value) => ({ value, name: String(value) })),
    prepare: (posted) => ({ ...posted, requests: posted.requests.map(asksAtOnce) }),
    figures: [
      {
        name: "tokens per second while all places are taken",
        of: ({ round }) => fullTokensPerSecond(round),
        format: oneDecimal,
        better: "more",
        timed: true,
      },
      {
        name: "tokens per second in all, prompts read as well",
        of: ({ round }) => tokensPerSecond(round),
        format: oneDecimal,
        better: "more",
        timed: true,
      },
      UNTIL_DONE,
      {
        name: "busy: share of the time that a pass ran",
        of: ({ round }) => busyShare(round),
        format: inPercent,
        better: "more",
        timed: true,
      },
    ],
  },
];

function oneDecimal(value) {
  return fixed(value, value < 100 ? 1 : 0);
}

function meanFirstWord({ answers }) {
  return mean(answers.map(firstWordMs));
}

function meanWaste({ round, blockSize }) {
  return wasteOver(round, blockSize)?.share ?? null;
}

/** Rows with gaps are not shared: beside a round that shares, two things would differ and not one. */
function withoutSharing(posted) {
  return { ...posted, settings: { ...posted.settings, sharing: false } };
}

function asksAtOnce(request) {
  return { ...request, arrives_ms: 0, cancel_ms: null, retry_of: null };
}

/** One of the prompts is made long where none is. */
function withLongPrompt(posted) {
  const { requests } = posted;
  if (requests.some(({ prompt }) => prompt.length >= LONG.length)) return posted;
  const middle = Math.floor(requests.length / 2);
  return { ...posted, requests: requests.map((each, at) => (at === middle ? { ...each, prompt: LONG } : each)) };
}

/** Answers may become long, and there are so few blocks that not all have room who ask: enough for the three longest. */
function withLittleMemory({ system, requests, settings }) {
  const open = requests.map((request) => ({ ...request, max_new_tokens: OPEN_TOKENS }));
  const needs = open
    .map(({ prompt, max_new_tokens }) => {
      const tokens = Math.ceil((system.length + prompt.length) / CHARACTERS_PER_TOKEN) + TEMPLATE_TOKENS;
      return Math.ceil((tokens + max_new_tokens) / BLOCK);
    })
    .sort((a, b) => b - a);
  const blocks = needs.slice(0, 3).reduce((sum, need) => sum + need, 0);
  return { system, requests: open, settings: { ...settings, blocks } };
}

/** @returns {{system: string, requests: Object[], rounds: Object[]}} what is posted for an experiment */
export function bodyOf(experiment, posted) {
  const { system, requests, settings } = experiment.prepare(posted);
  return {
    system,
    requests,
    rounds: experiment.values.map(({ value }) => ({ ...settings, [experiment.setting]: value })),
  };
}

/** @returns {boolean} of two settings, which may be objects; what an older log lacks is null */
function isSame(one, other) {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}

/** @returns {string[]} the settings that are not the same in all rounds */
function differing(rounds) {
  return Object.keys(rounds[0]).filter((name) => rounds.some((round) => !isSame(round[name], rounds[0][name])));
}

/** @returns {Experiment|null} the one whose setting, and no other, differs between the rounds of a log */
export function experimentOf(rounds) {
  const names = differing(rounds);
  return names.length === 1 ? (EXPERIMENTS.find(({ setting }) => setting === names[0]) ?? null) : null;
}

/** @returns {string} what a round is called beside the others of its log */
export function roundName(rounds, number) {
  const named = experimentOf(rounds);
  const settings = rounds[number];
  const value = named?.values.find(({ value }) => isSame(value, settings[named.setting]));
  if (value) return named.id === "at-once" ? `${value.name} at once` : value.name;
  const says = differing(rounds).map((name) => `${name.replace("_", " ")} ${JSON.stringify(settings[name])}`);
  return says.length ? says.join(", ") : `round ${number + 1}`;
}

/**
 * @typedef {Object} Result
 * @property {Experiment} experiment
 * @property {string} run whose log it is of
 * @property {{name: string, value: *, values: (number|null)[], others: number}[]} rounds those that are over; `values`: one per figure
 * @property {string[]} figures what they are called
 * @property {{same: number, of: number, first: {request: number, token: number}|null}|null} text how many requests got the same text
 *   in all rounds; null before all are over
 * @property {string|null} says what it comes to; null where nothing is said, or before all are over
 * @property {string|null} disturbed what disturbed the times; null where nothing did, or before all are over
 * @property {string|null} formats what the passes read the weights in, where that differs; null before all are over
 * @property {number} of how many rounds there are to be
 *
 * @param {import("../shared/log/workload.js").Workload} log
 * @returns {Result|null} null where the log is no experiment
 */
export function resultOf(log) {
  const { rounds: asked, requests } = log.study;
  const experiment = experimentOf(asked);
  if (!experiment) return null;
  const blockSize = log.open.block_size;
  const over = log.rounds.filter(({ end }) => end);
  const facts = over.map((round) => ({ round, requests, blockSize, answers: answersOf(round, requests) }));
  const complete = over.length === asked.length;
  const sides = facts.map((each) => ({
    ...each,
    name: roundName(asked, each.round.number),
    values: experiment.figures.map(({ of }) => of(each)),
  }));
  return {
    ...{ experiment, run: log.id, of: asked.length },
    rounds: sides.map(({ name, values, round }) => ({
      ...{ name, values, value: round.settings[experiment.setting], others: round.end.others },
    })),
    figures: experiment.figures.map(({ name }) => (typeof name === "string" ? name : name(requests))),
    text: complete ? sameInAll(facts.map(({ answers }) => answers)) : null,
    disturbed: complete ? disturbedSays(sides) : null,
    formats: complete ? formatsSay(sides) : null,
    says: complete && experiment.says ? experiment.says(sides[0], sides[1]) : null,
  };
}

/** Of all comparisons with the first round, the one in which the fewest are the same. */
function sameInAll(answers) {
  const each = answers.slice(1).map((other) => sameText(answers[0], other));
  return each.reduce((least, one) => (one.same < least.same ? one : least));
}
