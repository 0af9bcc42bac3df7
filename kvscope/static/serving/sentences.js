/**
 * Sentences about a pass and about the events of a round; every number comes from the log. Pure.
 *
 * @typedef {"coming"|"waiting"|"preempted"|"running"|"done"|"cancelled"|"refused"} State of a request
 */

import { fixed, integer, milliseconds } from "../shared/facts/format.js";
import { unhandled } from "../shared/facts/unhandled.js";
import { blockCount, rowCount, tokenCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { whyNothingShared, whyWaits } from "./joining.js";
import { chosenOf, doneMs, endOf, tokensPerSecond } from "./measures.js";
import { letterOf, lettersOf } from "./owners.js";
import { wholeMs } from "./whole-ms.js";

/** Every request waits for the running pass; a shorter wait than this is not worth a sentence. */
const SHORT_WAIT_MS = 1;

/**
 * @param {Object} pass
 * @param {Set<number>} preempted requests that were preempted before the pass and are computed again
 * @param {Set<number>} moved requests that have come from the engine that read their prompts
 * @returns {string[]} what the pass did, a sentence for each thing
 */
export function whatItDid({ members, others }, preempted = new Set(), moved = new Set()) {
  const decoding = members.filter(({ phase }) => phase === "decode");
  const one = decoding.filter((member) => chosenOf(member).length === 1).map(({ request }) => request);
  const letters = lettersOf(one);
  const did = [];
  if (one.length)
    did.push(plural(one.length, form`${letters} got its next token.`, form`${letters} got their next tokens.`));
  for (const member of decoding) {
    const { length } = chosenOf(member);
    if (length > 1) did.push(msg`${letterOf(member.request)} got its next ${length} tokens.`);
  }
  for (const member of members) if (member.phase !== "decode") did.push(...prefillSentences(member, preempted, moved));
  if (others.rows) did.push(msg`The pass also computed ${rowCount(others.rows)} of other runs.`);
  const guessed = members.reduce((sum, member) => sum + member.guessed, 0);
  const right = members.reduce((sum, { more }) => sum + more.length, 0);
  if (guessed) did.push(msg`Guesses: ${guessed}, of which right: ${right}.`);
  return did.length ? did : [msg`The pass computed nothing.`];
}

function prefillSentences({ request, first, rows, token }, preempted, moved) {
  const letter = letterOf(request);
  if (moved.has(request)) {
    const joins = msg`${letter} has come with its blocks; the pass computed ${rowCount(rows)} that they lack.`;
    return token ? [joins, msg`${letter} got its next token.`] : [joins];
  }
  if (preempted.has(request)) return [msg`The pass computed ${rowCount(rows)} of ${letter} again.`];
  const number = integer(rows);
  const read = first
    ? plural(
        rows,
        form`The pass read another ${number} token of ${letter}’s prompt.`,
        form`The pass read another ${number} tokens of ${letter}’s prompt.`,
      )
    : msg`The pass read ${tokenCount(rows)} of ${letter}’s prompt.`;
  return token ? [read, msg`${letter} got its first token.`] : [read];
}

/** Summarizes a round that has ended. */
export function howItWent(round, requests, answers) {
  const done = integer(answers.filter(({ end }) => end?.what === "done").length);
  const all = integer(requests.length);
  const tokens = tokenCount(answers.reduce((sum, answer) => sum + answer.outputs.length, 0));
  const took = wholeMs(doneMs(round));
  const rate = fixed(tokensPerSecond(round), 1);
  if (done !== all) return msg`Done: ${done} of ${all} requests, with ${tokens} in ${took}, ${rate} per second.`;
  return plural(
    requests.length,
    form`${all} request is done: ${tokens} in ${took}, ${rate} per second.`,
    form`All ${all} requests are done: ${tokens} in ${took}, ${rate} per second.`,
  );
}

/** @returns {Set<number>} requests with such an event, "preempted" or "moved", up to a pass of the round */
export function requestsBefore({ events }, wanted, number) {
  const those = events.filter(({ what, pass }) => what === wanted && pass !== null && pass <= number);
  return new Set(those.map(({ request }) => request));
}

/**
 * What happened up to a pass, newest first.
 *
 * @param {import("./workload-log.js").Round} round
 * @param {Object[]} requests as the log has them
 * @param {import("./tally.js").Tally} tally of the round
 * @param {number|null} upTo number of a pass; null: to the end of the round
 * @returns {{ms: number, what: string, request: number, pass: number|null, lead: string, rest: string}[]} `lead`: a sentence, and
 *   `rest`: the ones that follow it
 */
export function whatHappened(round, requests, tally, upTo) {
  const { answers } = tally;
  const events = tally.events.filter(({ pass }) => upTo === null || (pass !== null && pass <= upTo));
  const happened = [];
  events.forEach((event, at) => {
    const { ms, what, request, pass } = event;
    const sentences = SENTENCES[what]?.(event, { round, requests, answers, events, at });
    if (!sentences) return;
    const [lead, ...rest] = sentences;
    happened.push({ ms, what, request, pass, lead, rest: rest.filter(Boolean).join(" ") });
  });
  // An event during a pass is in the frame of the next one.
  return happened.sort((one, other) => one.ms - other.ms).reverse();
}

/** Of a round that finds blocks by their content. */
const FULL_BLOCKS_STAY = msg`Its full blocks stay in the cache, and are found there, until other requests need the space.`;

/** By event: its sentences, null for none. */
const SENTENCES = {
  arrived,
  waits,
  joined,
  first,
  copied,
  preempted,
  cancelled,
  done,
  evicted,
  refused,
  stored,
  fetched,
};

/** Only for a request that does not join the next pass and is not cancelled before it. */
function arrived({ request, pass }, { round, events, requests }) {
  const next = events.find(({ what, request: who }) => ["joined", "cancelled"].includes(what) && who === request);
  if (next && next.pass === pass) return null;
  const waits = events.find(({ what, request: who }) => what === "waits" && who === request);
  const why = waits && passOf(round, pass) ? whyWaits(waits, round.settings) : "";
  const letter = letterOf(request);
  const first = retriedBy(requests[request]);
  return [
    first ? msg`${letter} arrives, a retry of ${first}.` : msg`${letter} arrives.`,
    msg`It waits in the queue.`,
    why,
  ];
}

/** Only for a request that waits although enough blocks are free, and not for its first reason, which `arrived` states. */
function waits(event, { round, events }) {
  const { request, pass, why } = event;
  const first = events.find(({ what, request: who }) => what === "waits" && who === request);
  if (why !== "stretch" || event === first || !passOf(round, pass)) return null;
  return [msg`${letterOf(request)} still waits.`, whyWaits(event, round.settings)];
}

/** @returns {Object|null} the pass of that number; null for none, and for one of another round */
function passOf({ passes }, number) {
  return (number !== null && passes[number - passes[0]?.number]) || null;
}

/** @returns {string|null} the letter of the cancelled request that this one sends again */
function retriedBy({ retry_of }) {
  return typeof retry_of === "number" ? letterOf(retry_of) : null;
}

function joined({ request, count, pass, ms: at }, { round, events, answers, requests, at: place }) {
  const letter = letterOf(request);
  const before = events.slice(0, place).findLast(({ what, request: who }) => what === "preempted" && who === request);
  if (before) {
    const since = wholeMs(at - before.ms);
    return [
      msg`${letter} joins the batch again.`,
      msg`It was preempted ${since} earlier.`,
      msg`The cache must hold its ${tokenCount(count)} again.`,
    ];
  }
  const own = (wanted) =>
    events.find(({ what, request: who, pass: of }) => what === wanted && who === request && of === pass);
  const shared = own("shared");
  const member = passOf(round, pass)?.members.find((each) => each.request === request);
  const back = own("fetched") && member ? member.first - (shared?.count ?? 0) : 0;
  const retried = retriedBy(requests[request]);
  return [
    retried ? msg`${letter}, a retry of ${retried}, joins the batch.` : msg`${letter} joins the batch.`,
    waitSentence(request, pass, at, { round, events, answers }),
    ...(shared || back
      ? sharedSentences(shared, count, back)
      : [msg`It must read ${tokenCount(count)}.`, whyNothingShared(round, pass, request)]),
    retried &&
      (shared?.count ?? 0) < reusable(round, requests, answers, request) &&
      msg`The cache no longer holds everything that was computed for ${retried}.`,
    shared &&
      copiesWith(request, pass, events) &&
      msg`The last of these blocks is only partly shared, so ${letter} gets its own copy.`,
  ];
}

/**
 * @returns {number} rows of a retry’s prompt that were computed before, without its last token, which every request computes; 0 if
 *   none or only full blocks are shared, which a retry may lack for another reason
 */
function reusable({ settings }, requests, answers, request) {
  const { retry_of, tokens } = requests[request];
  const { shared, rows } = answers[retry_of];
  const { sharing, prefix, contiguous } = settings;
  return sharing && prefix === "tokens" && !contiguous ? Math.min(shared + rows, tokens - 1) : 0;
}

function waitSentence(request, pass, at, { round, events, answers }) {
  const { arrived } = answers[request];
  if (at - arrived <= SHORT_WAIT_MS) return "";
  const waited = wholeMs(at - arrived);
  const event = events.find((each) => each.what === "arrived" && each.request === request);
  const duringPass = round.passes.some((each) => each.start_ms <= arrived && arrived < endOf(each));
  if (event?.pass === pass && duringPass) return msg`It waited ${waited} until the running pass ended.`;
  return msg`It waited ${waited}.`;
}

/** @param {Object|undefined} event what the pool held  @param {number} back rows that were copied back from a tier */
function sharedSentences(event, tokens, back) {
  const { count, other } = event ?? { count: 0, other: null };
  const shared = integer(count);
  const all = tokenCount(tokens);
  const rest = [
    back > 0 && msg`${integer(back)} of them were copied back.`,
    msg`It must read only ${tokenCount(tokens - count - back)}.`,
  ].filter(Boolean);
  if (!event) return [msg`Its ${all} are not in the pool.`, ...rest];
  const pool =
    typeof other === "number"
      ? msg`Of its ${all}, the pool already held ${shared}, in blocks of ${letterOf(other)}.`
      : msg`Of its ${all}, the pool already held ${shared}.`;
  return [pool, ...rest];
}

function first({ request, ms: at }, { answers }) {
  const since = wholeMs(at - answers[request].arrived);
  return [msg`${letterOf(request)} gets its first token, ${since} after the request arrived.`];
}

/** A request that joins with a partly shared block copies it at once; `joined` has a sentence for that. */
function copiesWith(request, pass, events) {
  const of = (wanted) =>
    events.some(({ what, request: who, pass: at }) => what === wanted && who === request && at === pass);
  return of("copied") && of("joined");
}

function copied({ request, pass }, { events }) {
  if (copiesWith(request, pass, events)) return null;
  return [msg`${letterOf(request)} gets a copy of a shared block.`, msg`It writes to the copy (copy-on-write).`];
}

function preempted({ request, count }, { round }) {
  return [
    msg`${letterOf(request)} is preempted.`,
    msg`Too few blocks are free, so it waits in the queue again.`,
    round.settings.prefix === "blocks" ? FULL_BLOCKS_STAY : msg`The engine will compute ${rowCount(count)} again.`,
  ];
}

function cancelled({ request, pass, ms: at }, { round, answers, events }) {
  const { outputs, rows, arrived } = answers[request];
  const lead = msg`${letterOf(request)} is cancelled.`;
  if (!rows) {
    const since = wholeMs(at - arrived);
    const waits = events.find(({ what, request: who }) => what === "waits" && who === request);
    return [
      lead,
      msg`It arrived ${since} earlier.`,
      waits ? msg`It was still in the queue.` : msg`The next pass had not started.`,
      msg`Nothing was computed for it, and it held no blocks.`,
    ];
  }
  const last = pass === null ? round.passes.at(-1) : passOf(round, pass - 1);
  const held = last ? stateOf(last, request).table.length : 0;
  const lost = msg`The work for ${rowCount(rows)} is lost.`;
  const had = msg`It had ${tokenCount(outputs.length)}.`;
  if (!held) return [lead, had, lost, msg`It held no blocks any more.`];
  if (round.settings.prefix === "blocks") return [lead, had, FULL_BLOCKS_STAY];
  return round.settings.sharing ? [lead, had, keptSentence(held)] : [lead, had, lost, releasedSentence(held)];
}

function releasedSentence(held) {
  const number = integer(held);
  return plural(held, form`It releases its ${number} block.`, form`It releases its ${number} blocks.`);
}

function keptSentence(held) {
  const number = integer(held);
  return plural(
    held,
    form`Its ${number} block stays in the cache until another request needs the space.`,
    form`Its ${number} blocks stay in the cache until another request needs the space.`,
  );
}

function done({ request, pass, ms: at }, { round, answers }) {
  const { outputs, arrived } = answers[request];
  const took = wholeMs(at - arrived);
  const firstAfter = outputs.length > 1 && wholeMs(outputs[0].ms - arrived);
  return [
    msg`${letterOf(request)} is done.`,
    msg`It got ${tokenCount(outputs.length)} in ${took}.`,
    firstAfter && msg`Its first token came after ${firstAfter}.`,
    msg`Its place in the batch is free.`,
    round.settings.contiguous && releasedText(round, pass, request),
  ];
}

/** Says what a stretch held in the last pass before the request was done. */
function releasedText(round, pass, request) {
  const last = pass === null ? round.passes.at(-1) : passOf(round, pass - 1);
  if (!last) return "";
  const { table, positions } = stateOf(last, request);
  const blocks = blockCount(table.length);
  return table.length ? msg`It releases its stretch of ${blocks}, which held ${tokenCount(positions)}.` : "";
}

function evicted({ request, count }, { round: { settings } }) {
  const number = integer(count);
  const letter = letterOf(request);
  return [
    plural(
      count,
      form`${number} cached block of ${letter} is evicted.`,
      form`${number} cached blocks of ${letter} are evicted.`,
    ),
    settings.tier === "none"
      ? msg`The engine needs the space, and the rows in it are lost.`
      : msg`The engine needs the space.`,
  ];
}

function stored({ request, count, took_ms }, { round }) {
  const [blocks, took] = [blockCount(count), milliseconds(took_ms)];
  const letter = letterOf(request);
  return round.settings.tier === "file"
    ? [msg`${blocks} of ${letter} are copied to a file, in ${took}.`]
    : [msg`${blocks} of ${letter} are copied to other memory, in ${took}.`];
}

function fetched({ request, count, took_ms }) {
  const [blocks, took] = [blockCount(count), milliseconds(took_ms)];
  return [msg`${blocks} for ${letterOf(request)} are copied back, in ${took}.`];
}

function refused({ request, count }, { round }) {
  const limit = blockCount(round.settings.blocks);
  return [msg`${letterOf(request)} is refused.`, msg`It might need ${blockCount(count)}; this round has ${limit}.`];
}

/** A pass has no state of a request that arrived later. */
/** @type {{state: State, positions: number, table: number[]}} */
const NOT_ARRIVED = { state: "coming", positions: 0, table: [] };

/** @returns {{state: State, positions: number, table: number[]}} of a request after a pass */
export function stateOf(pass, request) {
  return pass.requests[request] ?? NOT_ARRIVED;
}

/**
 * @param {{state: State, positions: number}} request after a pass
 * @returns {string} its state
 */
export function statusText({ state, positions }, { outputs }, pass) {
  const count = outputs.filter((output) => output.pass <= pass.number).length;
  const tokens = tokenCount(count);
  switch (state) {
    case "coming":
      return msg`not arrived yet`;
    case "waiting":
      return msg`waiting`;
    case "preempted":
      return msg`preempted, waiting again`;
    case "running":
      return count ? msg`${tokens} so far` : msg`prompt: ${tokenCount(positions)} in the cache`;
    case "done":
      return msg`done, ${tokens}`;
    case "cancelled":
      return msg`cancelled after ${tokens}`;
    case "refused":
      return msg`refused`;
    default:
      return unhandled(state);
  }
}
