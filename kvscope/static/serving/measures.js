/** Measures of a round, counted from its passes. Pure. */

/**
 * @typedef {{token: Object, ms: number, pass: number}} Output a token, the end of its pass in ms, and the number of the pass
 *
 * @typedef {{from: number, to: number}} Span in ms
 *
 * @typedef {Object} Answer one request in one round
 * @property {number} request
 * @property {number} arrived ms, like every time here since the start of the round
 * @property {number|null} began when the first pass with rows of it began
 * @property {Output[]} outputs
 * @property {number} rows all rows computed for it
 * @property {number} shared rows of its beginning that the pool held already
 * @property {(Span & {rows: number, pass: number, again: boolean})[]} reads passes that read part of its prompt; `again`: after
 *   a preemption
 * @property {number[]} preemptions the time of each
 * @property {Span[]} waited from its arrival, or from a preemption, until it joined a pass
 * @property {number|null} waits ms at which its current wait began; null while it is in the batch
 * @property {{what: "done"|"cancelled"|"refused", ms: number}|null} end
 */

/** @returns {Object[]} the tokens that a pass gave a request: more than one where guesses were right */
export function chosenOf({ token, more }) {
  return token ? [token, ...more] : [];
}

/** @returns {number} tokens that a pass produced */
export function tokensOut({ members }) {
  return members.reduce((sum, member) => sum + chosenOf(member).length, 0);
}

/** @returns {number} */
export const endOf = (pass) => pass.start_ms + pass.ms;

/** @returns {number|null} ms from its arrival to the first token */
export function firstTokenMs({ outputs, arrived }) {
  return outputs.length ? outputs[0].ms - arrived : null;
}

/** @returns {{ms: number, from: number, to: number}[]} the waits between each token and the next */
export function waitsOf({ outputs }) {
  return outputs.slice(1).map(({ ms }, at) => ({ ms: ms - outputs[at].ms, from: outputs[at].ms, to: ms }));
}

/** @returns {number|null} ms of the longest time between two tokens of an answer; null if no answer has two */
export function longestGap({ answers }) {
  const gaps = answers.flatMap((answer) => waitsOf(answer).map(({ ms }) => ms));
  return gaps.length ? gaps.reduce((most, ms) => Math.max(most, ms)) : null;
}

/** @returns {number} share of the tokens of all prompts that were in the cache of the engine that read them */
export function foundShare({ answers, requests }) {
  return sumOf(answers, ({ shared }) => shared) / sumOf(requests, ({ tokens }) => tokens);
}

/** @param {import("./workload-log.js").Round} round @returns {Object[]} all its events */
export function eventsOf({ passes, end }) {
  return [...passes.flatMap(({ events }) => events), ...(end?.events ?? [])];
}

/** @returns {number} the place of a pass in its round, from 1; the log numbers passes from 0 across all rounds */
export function placeOf({ passes }, { number }) {
  return number - passes[0].number + 1;
}

/** @returns {number} rows of a prompt that passes read between two times; shared rows are not read */
export function rowsReadIn({ reads }, { from, to }) {
  return sumOf(
    reads.filter((read) => read.from < to && read.to > from),
    ({ rows }) => rows,
  );
}

/** @returns {number|null} when the last of the passes with rows of the workload ends, in ms; several engines end in any order */
export function doneMs({ passes }) {
  const ends = passes.filter(({ members }) => members.length).map(endOf);
  return ends.length ? ends.reduce((last, end) => Math.max(last, end)) : null;
}

/** @returns {number|null} tokens of the round per second until all were done */
export function tokensPerSecond(round) {
  const ms = doneMs(round);
  if (!ms) return null;
  return sumOf(round.passes, tokensOut) / (ms / 1000);
}

/** @returns {number|null} the same for the passes in which the batch was full and every request got a token */
export function fullTokensPerSecond({ passes, settings }) {
  const full = passes.filter(
    ({ members }) => members.length === settings.at_once && members.every(({ phase }) => phase === "decode"),
  );
  return full.length ? sumOf(full, tokensOut) / (sumOf(full, ({ ms }) => ms) / 1000) : null;
}

/** @returns {number} rows of the workload that were computed */
export function rowsComputed(round) {
  return sumOf(round.passes, rowsOf);
}

/** @returns {number} rows of the workload in a pass */
export function rowsOf({ members }) {
  return sumOf(members, ({ rows }) => rows);
}

/**
 * @param {any[]} values
 * @param {(value: any) => number} [of]
 * @returns {number} the sum of what `of` returns of each value; without it, of the values
 */
export function sumOf(values, of = Number) {
  return values.reduce((sum, value) => sum + of(value), 0);
}

/** @returns {{times: number, rows: number}} preemptions, and rows that were computed again after them */
export function preemptionsIn({ answers }) {
  const again = answers.flatMap(({ reads }) => reads.filter((read) => read.again).map(({ rows }) => rows));
  return { times: sumOf(answers.map(({ preemptions }) => preemptions.length)), rows: sumOf(again) };
}

/** @returns {{guessed: number, right: number}} how many tokens were guessed for these requests, and how many of them were right */
export function guesses({ passes }, isOf = (_request) => true) {
  const members = passes.flatMap((pass) => pass.members).filter(({ request }) => isOf(request));
  return {
    guessed: sumOf(members, (member) => member.guessed),
    right: sumOf(members, ({ more }) => more.length),
  };
}

/**
 * Counts after the first token of each answer, because reading the prompt produces that one.
 *
 * @returns {{tokens: number, passes: number}} `passes`: those that gave these tokens, counted for each answer
 */
export function afterFirst(answers) {
  const later = answers.map(({ outputs }) => outputs.slice(1));
  return {
    tokens: sumOf(later, ({ length }) => length),
    passes: sumOf(later, (outputs) => new Set(outputs.map(({ pass }) => pass)).size),
  };
}

/** @returns {number} the most rows that one request held between two of its tokens */
export function mostPositions({ passes }) {
  const held = passes.flatMap(({ members, requests }) =>
    members
      .filter(({ phase, request }) => phase === "decode" && requests[request].state === "running")
      .map(({ request }) => requests[request].positions),
  );
  return Math.max(0, ...held);
}

/** @returns {number} */
export function mostAtOnce(round) {
  return Math.max(0, ...round.passes.map((pass) => runningOf(pass).length));
}

/** @returns {number} the most distinct blocks that running requests held */
export function mostBlocks(round) {
  return Math.max(0, ...round.passes.map((pass) => new Set(runningOf(pass).flatMap(({ table }) => table)).size));
}

/** @returns {{request: number, positions: number, table: number[], dropped: number}[]} the requests that are running after a pass */
export function runningOf({ requests }) {
  return requests.map((each, request) => ({ ...each, request })).filter(({ state }) => state === "running");
}

/** @returns {number|null} */
export function mean(values) {
  const known = values.filter((value) => value !== null);
  return known.length ? sumOf(known, Number) / known.length : null;
}

/** @returns {number} the first request with the longest prompt */
export function longestPrompt(requests) {
  const most = Math.max(...requests.map(({ tokens }) => tokens));
  return requests.findIndex(({ tokens }) => tokens === most);
}

/**
 * Finds the longest wait of another request for its next token while a prompt was read.
 *
 * @param {Answer[]} answers
 * @param {import("./workload-log.js").Round} round
 * @param {number} reader whose prompt
 * @returns {{ms: number, from: number, to: number, requests: number[]}|null} `requests`: all that waited for that whole time;
 *   null if none did
 */
export function longestWait(answers, round, reader) {
  const reading = round.passes.filter(({ members }) =>
    members.some(({ request, phase }) => request === reader && phase === "prefill"),
  );
  const waits = answers
    .filter(({ request }) => request !== reader)
    .flatMap((answer) => waitsOf(answer).map((wait) => ({ ...wait, request: answer.request })))
    .filter((wait) => reading.some((pass) => pass.start_ms < wait.to && endOf(pass) > wait.from));
  if (!waits.length) return null;
  const longest = waits.reduce((best, wait) => (wait.ms > best.ms ? wait : best));
  const requests = waits
    .filter((wait) => wait.from <= longest.from && wait.to >= longest.to)
    .map((wait) => wait.request);
  return { ms: longest.ms, from: longest.from, to: longest.to, requests: [...new Set(requests)] };
}

/**
 * Compares the answers of two rounds token by token. Answers of a request that was cancelled in one of them are compared up
 * to the shorter length.
 *
 * @param {Answer[]} before
 * @param {Answer[]} after
 * @returns {{same: number, of: number, first: {request: number, token: number}|null}} `first`: the first difference
 */
export function sameText(before, after) {
  let [same, of] = [0, 0];
  let first = null;
  before.forEach((one, request) => {
    const other = after[request];
    const both = Math.min(one.outputs.length, other.outputs.length);
    const whole = one.end?.what === "done" && other.end?.what === "done";
    if (!both) return;
    of += 1;
    const at = one.outputs.slice(0, both).findIndex(({ token }, place) => token.id !== other.outputs[place].token.id);
    const differs = at >= 0 ? at : whole && one.outputs.length !== other.outputs.length ? both : -1;
    if (differs < 0) same += 1;
    else first ??= { request, token: differs };
  });
  return { same, of, first };
}

/** The fewest passes that are compared. */
const FEWEST_PASSES = 3;

/**
 * Compares how busy the engine was, and how many tokens it produced, with the fewest and the most requests per pass.
 *
 * @param {Map<number, {passes: number, ms: number, between: number, tokens: number}>} byMembers as a tally counts them
 * @returns {{requests: number, busy: number, perSecond: number}[]|null} `busy`: the share of the time that a pass ran; null if
 *   there were too few passes
 */
export function busyOf(byMembers) {
  const measured = [...byMembers]
    .filter(([, { passes }]) => passes >= FEWEST_PASSES)
    .sort(([one], [other]) => one - other)
    .map(([requests, { ms, between, tokens }]) => ({
      requests,
      busy: ms / (ms + between),
      perSecond: tokens / ((ms + between) / 1000),
    }));
  return measured.length > 1 ? [measured[0], measured.at(-1)] : null;
}

/** @returns {number|null} the share of the time until all were done in which a pass ran */
export function busyShare(round) {
  const ms = doneMs(round);
  return ms ? sumOf(round.passes, (pass) => pass.ms) / ms : null;
}
