/**
 * The experiment on load: the same requests arrive faster and faster, at random times, until the engine cannot keep up.
 *
 * TTFT (time to first token) is measured from a request's arrival, waiting included. TPOT (time per output token) is the time
 * from the first token to the last, divided by the number of tokens after the first: both as `vllm bench serve` defines them.
 * Pure.
 */

import { disturbance } from "../shared/facts/conditions.js";
import { fixed, integer, percent } from "../shared/facts/format.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { arrivalsOf, randoms } from "./arrivals.js";
import { ON_BLOCKS } from "./engines.js";
import { busyShare, doneMs, firstTokenMs, foundShare, preemptionsIn, sumOf, tokensOut } from "./measures.js";
import { NEVER_CANCELLED } from "./prompts.js";
import { REPLAY_FILE } from "./replay.js";
import { wholeMs } from "./whole-ms.js";

const SPEEDS = [1, 2, 4, 8, 16];
export const PERCENTS = [50, 95, 99];
/** TTFT counts as longer than with little load if it is at least so many times as long. */
const LONGER = 2;
/** More answers per second are so many times as many; at higher rates, an engine that is full already does not reach this. */
const MORE = 1.1;
/** Answers are counted until the last one ends, after the last arrival: an engine that keeps up answers a little less than the rate. */
const KEEPS_UP = 0.8;
/** The share of the time from which an engine counts as busy all the time. */
const ALWAYS = 0.9;
const CHOICES = [
  {
    ...{ id: "requests", label: msg`Requests`, value: 24, least: 8, most: 500, step: 4 },
    text: (value) => integer(value),
  },
  {
    ...{
      id: "gap",
      label: msg`Between two of them at first, on average`,
      value: 2000,
      least: 250,
      most: 4000,
      step: 250,
    },
    text: (value) => msg`${fixed(value / 1000, 2)} s`,
  },
  {
    ...{ id: "engines", label: msg`Engines of its own, each with a cache`, value: 0, least: 0, most: 4, step: 1 },
    text: (value) => (value ? integer(value) : msg`none`),
  },
];

/** An entry of the list in experiments.js. */
export const LOAD = {
  id: "load",
  name: msg`Load`,
  about: msg`Requests arrive at random times (Poisson), each with a prompt and an answer length of the form’s list. Each round sends the same ones twice as fast as the round before. At which rate does the engine no longer keep up?`,
  setting: "speed",
  values: SPEEDS.map((value) => ({ value, name: `${integer(value)}×` })),
  choices: CHOICES,
  file: REPLAY_FILE,
  asInForm: true,
  prepare: withArrivals,
  details: loadOf,
  conclusion: kneeText,
  figures: PERCENTS.map((share) => ({
    name: msg`time to first token, ${integer(share)} % of requests`,
    of: ({ answers }) => percentile(answers.map(firstTokenMs), share),
    format: wholeMs,
    better: /** @type {const} */ ("less"),
    timed: true,
  })),
};

/**
 * @typedef {Object} Load of one round
 * @property {number} rate requests that arrived per second
 * @property {{ttft: number, tpot: number|null}[]} served of each request that was answered, in ms; `tpot` is null after one token
 * @property {number} seconds until the last one was answered
 * @property {number} tokens of all answers
 * @property {number} queue most requests that waited at the same time
 * @property {number|null} busy share of the time in which a pass ran, of several engines on average
 * @property {number} disturbed share of the passes that other work or other runs disturbed
 * @property {number} full share of the passes in which as many requests were served as may be
 * @property {{blocks: number, budget: number}} waits requests that waited for blocks, and for the budget of a pass
 * @property {number} refused requests that need more blocks than there are
 * @property {number} found share of the tokens of all prompts that were in the cache
 * @property {{times: number, rows: number}} preempted
 */

/**
 * Draws each request from the form's, and its arrival: the times between arrivals are exponentially distributed.
 *
 * @param {{system: string, requests: Object[], settings: import("./workload-log.js").Settings}} posted
 * @param {Object<string, any>} chosen `file`: what was read of a file (replay.js), null for random requests
 */
function withArrivals({ system, requests, settings }, { requests: count, gap, engines, file }) {
  const served = engines ? { ...settings, ...onEngines(engines, settings) } : settings;
  if (file) return { system: "", requests: file.requests, settings: served };
  const numbers = randoms(2 * count);
  const arrivals = arrivalsOf(numbers.slice(0, count), gap);
  const sent = numbers.slice(count).map((share, at) => {
    const { prompt, max_new_tokens } = requests[Math.floor(share * requests.length)];
    return { prompt, max_new_tokens, ...NEVER_CANCELLED, arrives_ms: arrivals[at] };
  });
  return { system, requests: sent, settings: served };
}

/** Of several engines, each request goes to the one with the fewest. The token budget stays as in the form. */
function onEngines(count, { budget }) {
  return { ...ON_BLOCKS, budget, engines: { count, route: "least", prefill: 0, stages: 1 } };
}

/**
 * @param {(number|null)[]} values
 * @param {number} share in percent
 * @returns {number|null} the smallest value that at least this share of them do not exceed (nearest rank); null if there are none
 */
export function percentile(values, share) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
  return sorted[Math.ceil((share / 100) * sorted.length) - 1] ?? null;
}

/** @param {Omit<import("./comparisons.js").Side, "name">} facts @returns {Load} */
function loadOf({ round, answers, requests }) {
  const arrivals = answers.map(({ arrived }) => arrived);
  const over = (Math.max(...arrivals) - Math.min(...arrivals)) / 1000;
  const passes = round.passes.filter(({ members }) => members.length);
  return {
    rate: over ? (requests.length - 1) / over : Number.POSITIVE_INFINITY,
    served: answers.filter(({ end }) => end?.what === "done").map(timesOf),
    seconds: (doneMs(round) ?? 0) / 1000,
    tokens: sumOf(passes, tokensOut),
    queue: longestQueue(answers),
    busy: busyOf(round),
    disturbed: shareOf(round.passes, isDisturbed),
    full: shareOf(passes, ({ members }) => members.length >= round.settings.at_once),
    waits: { blocks: waitsFor(round, ["blocks", "stretch"]), budget: waitsFor(round, ["budget"]) },
    refused: answers.filter(({ end }) => end?.what === "refused").length,
    found: foundShare({ answers, requests }),
    preempted: preemptionsIn({ answers }),
  };
}

/** @returns {number} 0 without passes */
function shareOf(passes, wanted) {
  return passes.length ? passes.filter(wanted).length / passes.length : 0;
}

const isDisturbed = (pass) => disturbance(pass) !== null;

function busyOf(round) {
  const share = busyShare(round);
  return share && share / (round.settings.engines?.count ?? 1);
}

function timesOf(answer) {
  const { outputs } = answer;
  const later = outputs.length - 1;
  return { ttft: firstTokenMs(answer), tpot: later ? (outputs[later].ms - outputs[0].ms) / later : null };
}

/** @returns {number} the most requests that waited to join a pass at the same time */
function longestQueue(answers) {
  const changes = answers.flatMap(({ waited }) =>
    waited.flatMap(({ from, to }) => [
      [from, 1],
      [to, -1],
    ]),
  );
  // At the same time, those that leave come first.
  changes.sort(([one, a], [other, b]) => one - other || a - b);
  let [now, most] = [0, 0];
  for (const [, by] of changes) {
    now += by;
    most = Math.max(most, now);
  }
  return most;
}

function waitsFor({ passes }, reasons) {
  const waited = passes.flatMap(({ events }) =>
    events.filter(({ what, why }) => what === "waits" && reasons.includes(why)),
  );
  return new Set(waited.map(({ request }) => request)).size;
}

/**
 * @param {Load} load
 * @param {{ttft: number, tpot: number}} objective in ms
 * @returns {Load["served"]} the requests that were answered within it
 */
export function within({ served }, objective) {
  return served.filter(({ ttft, tpot }) => ttft <= objective.ttft && (tpot ?? 0) <= objective.tpot);
}

/** @returns {number} answers per second of a load. `served`: those that count; without it, all */
export function answered(load, served = load.served) {
  return load.seconds ? served.length / load.seconds : 0;
}

/** @returns {string} requests per second */
export const rateText = (rate) => (Number.isFinite(rate) ? fixed(rate, rate < 1 ? 2 : rate < 10 ? 1 : 0) : "∞");

/**
 * Names the first rate at which the slowest 5 % wait much longer for their first token than at the lowest rate, and what the log
 * counts there.
 *
 * @param {...import("./comparisons.js").Side & {details?: any}} sides from the lowest rate to the highest
 */
function kneeText(...sides) {
  const [lowest, ...others] = sides.map(({ details }) => details);
  if (sides.some(({ details }) => !details.served.length))
    return msg`In a round, no request was answered: each needs more blocks than there are.`;
  if (isLimited(lowest) && (isBehind(lowest) || others.every((load) => answered(load) < MORE * answered(lowest)))) {
    const [rate, answers] = [lowest.rate, answered(lowest)].map(rateText);
    return msg`At ${rate} requests per second, the lowest rate, the engine was full already: it answered ${answers} per second. Send them with more time between two.`;
  }
  const slow = sides.map(({ answers }) => percentile(answers.map(firstTokenMs), 95));
  const at = slow.findIndex((ms, round) => ms >= LONGER * slow[0] && isLimited(sides[round].details));
  if (at < 0)
    return msg`No knee: at every rate 95 % of the requests got their first token in less than ${LONGER} × the time of the lowest rate, or no limit kept them from a pass. Send them with less time between two.`;
  const [before, after] = [sides[at - 1], sides[at]].map(({ details }) => rateText(details.rate));
  const [first, then] = [slow[0], slow[at]].map(wholeMs);
  return [
    msg`The knee is between ${before} and ${after} requests per second: 95 % of the requests got their first token within ${then}, at the lowest rate within ${first}.`,
    countedText(sides[at].details),
    disturbedPasses(sides),
  ]
    .filter(Boolean)
    .join(" ");
}

/** @returns {string} "" if nothing disturbed a pass */
function disturbedPasses(sides) {
  const passes = sides.flatMap(({ round }) => round.passes);
  const disturbed = passes.filter(isDisturbed);
  const [count, of] = [disturbed, passes].map(({ length }) => integer(length));
  return disturbed.length
    ? msg`Other work or other runs disturbed ${count} of all ${of} passes, so that a second sweep may find other times.`
    : "";
}

/** @returns {boolean} whether it was hardly ever idle and answered clearly fewer requests per second than arrived */
function isBehind(load) {
  return load.busy >= ALWAYS && answered(load) < KEEPS_UP * load.rate;
}

/** @returns {boolean} whether a limit kept a request from a pass: places in the batch, blocks, or rows of a pass */
function isLimited({ full, waits }) {
  return full > 0 || waits.blocks > 0 || waits.budget > 0;
}

/** @param {Load} load */
function countedText({ busy, full, queue, waits, preempted }) {
  const [time, share] = [busy ?? 0, full].map((part) => percent(part, 0));
  return [
    msg`At the higher of these rates an engine was busy for ${time} of the time, and the batch was full in ${share} of the passes.`,
    plural(
      queue,
      form`At most ${queue} request waited at the same time.`,
      form`At most ${queue} requests waited at the same time.`,
    ),
    waits.blocks
      ? plural(
          waits.blocks,
          form`${waits.blocks} request waited for free blocks.`,
          form`${waits.blocks} requests waited for free blocks.`,
        )
      : msg`No request waited for free blocks.`,
    waits.budget && msg`Requests that waited for the token budget of a pass: ${waits.budget}.`,
    preempted.times && msg`Preemptions: ${preempted.times}.`,
  ]
    .filter(Boolean)
    .join(" ");
}
