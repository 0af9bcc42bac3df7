/** What a pass did and what happened, in words; every number is the log's. Pure. */

import { counted, fixed, integer, listed } from "../shared/facts/format.js";
import { whyNothingShared, whyWaits } from "./joining.js";
import { chosenOf, doneMs, endOf, tokensPerSecond } from "./measures.js";
import { letterOf, lettersOf } from "./owners.js";

/** Anyone waits for the pass that goes on; that is not worth a sentence, in ms. */
const SHORT_WAIT_MS = 1;

const ms = (value) => `${integer(value)} ms`;

/**
 * What a pass did, in one sentence up to how long it took.
 *
 * @param {Object} pass
 * @param {number} place of the pass in its round, from 1
 * @param {Set<number>} setBack requests that were set back before it and are computed again
 */
export function whatItDid({ members, others }, place, setBack = new Set()) {
  const decoding = members.filter(({ phase }) => phase === "decode");
  const one = decoding.filter((member) => chosenOf(member).length === 1).map(({ request }) => request);
  const parts = [];
  if (one.length) parts.push(`gave ${lettersOf(one)} ${one.length === 1 ? "its" : "their"} next token`);
  for (const member of decoding) {
    const { length } = chosenOf(member);
    if (length > 1) parts.push(`gave ${letterOf(member.request)} its next ${integer(length)} tokens`);
  }
  for (const { request, phase, first, rows, token } of members) {
    if (phase === "decode") continue;
    const letter = letterOf(request);
    if (setBack.has(request)) parts.push(`computed ${counted(rows, "row")} of ${letter} again`);
    else
      parts.push(
        `read ${first ? `${integer(rows)} more` : integer(rows)} ${rows === 1 ? "token" : "tokens"} of ${letter}’s prompt`,
      );
    if (token && !setBack.has(request)) parts.push(`gave ${letter} its first token`);
  }
  if (others.rows) parts.push(`computed ${counted(others.rows, "row")} of other people’s runs`);
  const guessed = members.reduce((sum, member) => sum + (member.guessed ?? 0), 0);
  const right = members.reduce((sum, { more = [] }) => sum + more.length, 0);
  if (guessed) parts.push(`checked ${counted(guessed, "guess", "guesses")}, ${integer(right)} of them right`);
  const did = parts.length ? listed(parts) : "computed nothing";
  return `pass ${integer(place)} ${did}, ${parts.length > 1 || decoding.length > 1 ? "all in one go of" : "in"}`;
}

/** What a round came to, once it is over. */
export function howItWent(round, requests, answers) {
  const done = answers.filter(({ end }) => end?.what === "done").length;
  const words = answers.reduce((sum, answer) => sum + answer.words.length, 0);
  const all =
    done === requests.length
      ? `All ${integer(done)} are done`
      : `${integer(done)} of ${integer(requests.length)} are done`;
  return `${all}: ${counted(words, "token")} in ${ms(doneMs(round))}, ${fixed(tokensPerSecond(round), 1)} a second.`;
}

/** @returns {Set<number>} requests that were set back before a pass of the round, that pass's own events included */
export function setBackBefore({ events }, number) {
  const found = events.filter(({ what, pass }) => what === "preempted" && pass !== null && pass <= number);
  return new Set(found.map(({ request }) => request));
}

/**
 * What happened up to a pass, newest first.
 *
 * @param {import("../shared/log/workload.js").Round} round
 * @param {Object[]} requests as they were asked
 * @param {import("./tally.js").Tally} tally of the round
 * @param {number|null} upTo number of a pass; null: to the end of the round
 * @returns {{ms: number, what: string, request: number, pass: number|null, lead: string, rest: string}[]}
 */
export function whatHappened(round, requests, tally, upTo) {
  const { answers } = tally;
  const events = tally.events.filter(({ pass }) => upTo === null || (pass !== null && pass <= upTo));
  const told = [];
  events.forEach((event, at) => {
    const says = TOLD[event.what]?.(event, { round, requests, answers, events, at });
    if (says) told.push({ ms: event.ms, what: event.what, request: event.request, pass: event.pass, ...says });
  });
  // What came while a pass went on is told with the next one.
  return told.sort((one, other) => one.ms - other.ms).reverse();
}

const TOLD = { arrived, joined: joins, first, copied, preempted, cancelled, done, evicted, refused };

/** Only who is not taken into the very next pass, and has not gone away by then. */
function arrived({ request, pass }, { round, events, requests }) {
  const next = events.find(({ what, request: who }) => ["joined", "cancelled"].includes(what) && who === request);
  if (next && next.pass === pass) return null;
  const again = requests[request].retry_of ?? null;
  const asks = again === null ? "asks" : `asks again what ${letterOf(again)} asked`;
  const waits = events.find(({ what, request: who }) => what === "waits" && who === request);
  const missed = passOf(round, pass);
  const why = missed && (waits || pass !== next?.pass) ? whyWaits(waits, round.settings, missed) : "";
  return { lead: `${letterOf(request)} ${asks}`, rest: ` and waits${why}.` };
}

/** @returns {Object|null} the pass of that number; null for none, and for one of another round */
function passOf({ passes }, number) {
  return (number !== null && passes[number - passes[0]?.number]) || null;
}

function joins({ request, count, pass, ms: at }, { round, events, answers, requests, at: place }) {
  const letter = letterOf(request);
  const before = events.slice(0, place).findLast(({ what, request: who }) => what === "preempted" && who === request);
  if (before) {
    const rest = ` ${ms(at - before.ms)} after it had to make room: ${counted(count, "token")} are to be in the cache again.`;
    return { lead: `${letter} joins again`, rest };
  }
  const shared = events.find((each) => each.what === "shared" && each.request === request && each.pass === pass);
  const { arrived: asked } = answers[request];
  const told = events.find((each) => each.what === "arrived" && each.request === request);
  const under = round.passes.some((each) => each.start_ms <= asked && asked < endOf(each));
  const why = told?.pass === pass && under ? ", when the pass under way was over" : "";
  const waited = at - asked > SHORT_WAIT_MS ? ` after ${ms(at - asked)}${why}` : "";
  const tokens = count ?? requests[request].tokens;
  const again = requests[request].retry_of ?? null;
  const lead = again === null ? `${letter} joins` : `${letter} asks again what ${letterOf(again)} gave up`;
  const spent = again === null ? 0 : answers[again].shared + answers[again].rows;
  const lost =
    spent > (shared?.count ?? 0) ? ` They are read once more: what was computed for ${letterOf(again)} is gone.` : "";
  if (!shared) {
    const rest = `${waited}${why && waited && ","} with ${counted(tokens, "token")} to read. Nothing is shared: ${whyNothingShared(round, pass, request)}.${lost}`;
    return { lead, rest };
  }
  const whose = shared.other === null || shared.other === undefined ? "" : `, ${letterOf(shared.other)}’s`;
  const copies = copiesWith(request, pass, events)
    ? " Of the last block, which it shares in part, it gets a copy to write to."
    : "";
  return {
    lead,
    rest: `${waited}: ${integer(shared.count)} of ${counted(tokens, "token")} were in the pool already${whose}; only ${integer(tokens - shared.count)} are to be read.${lost}${copies}`,
  };
}

function first({ request, ms: at }, { answers }) {
  return { lead: `${letterOf(request)}’s first token`, rest: `, ${ms(at - answers[request].arrived)} after it asked.` };
}

/** Whoever joins with a block shared in part copies it at once: that is told with the joining. */
function copiesWith(request, pass, events) {
  const of = (wanted) =>
    events.some(({ what, request: who, pass: at }) => what === wanted && who === request && at === pass);
  return of("copied") && of("joined");
}

function copied({ request, pass }, { events }) {
  if (copiesWith(request, pass, events)) return null;
  return { lead: `${letterOf(request)} gets a copy`, rest: " of a block it shared, to write to it (copy-on-write)." };
}

function preempted({ request, count }) {
  const again = count ? `, and ${counted(count, "row")} of its will be computed once more` : "";
  return { lead: `${letterOf(request)} has to make room`, rest: `: too few blocks are free. It waits again${again}.` };
}

function cancelled({ request, pass, ms: at }, { round, answers, events }) {
  const { words, rows, arrived: asked } = answers[request];
  const lead = `${letterOf(request)} gives up`;
  if (!rows) {
    const waits = events.find(({ what, request: who }) => what === "waits" && who === request);
    const why = waits ? "it was still waiting" : "the next pass had not begun";
    return {
      lead,
      rest: ` ${ms(at - asked)} after it asked: ${why}. Nothing was computed for it, and it held no blocks.`,
    };
  }
  const last = pass === null ? round.passes.at(-1) : passOf(round, pass - 1);
  const held = last ? stateOf(last, request).table.length : 0;
  const blocks = held ? `it lets go of its ${counted(held, "block")}` : "it held no blocks any more";
  const computed = `${counted(rows, "row was", "rows were")} computed for nobody`;
  return { lead, rest: ` after ${counted(words.length, "token")}. ${computed}; ${blocks}.` };
}

function done({ request, ms: at }, { answers }) {
  const { words, arrived: asked } = answers[request];
  const read = words.length > 1 ? `, the first to be read after ${ms(words[0].ms - asked)}` : "";
  return {
    lead: `${letterOf(request)} is done`,
    rest: `: ${counted(words.length, "token")} in ${ms(at - asked)}${read}; its place in the pass is free.`,
  };
}

function evicted({ request, count }) {
  const blocks = counted(count ?? 1, "kept block is", "kept blocks are");
  return { lead: `${letterOf(request)}’s ${blocks} needed`, rest: ": what they held is forgotten." };
}

function refused({ request, count }, { round }) {
  const needs = count ? ` might need ${counted(count, "block")}, and there are` : " does not fit into";
  return { lead: `${letterOf(request)} is refused`, rest: `: it${needs} ${integer(round.settings.blocks)}.` };
}

/** Who asked later than a pass has no state in it. */
const NOT_THERE = { state: "coming", positions: 0, table: [] };

/** @returns {{state: string, positions: number, table: number[]}} of a request after a pass */
export function stateOf(pass, request) {
  return pass.requests[request] ?? NOT_THERE;
}

/** @returns {string} how a request stands after a pass */
export function standing({ state, positions }, { words }, pass) {
  const out = words.filter((word) => word.pass <= pass.number).length;
  switch (state) {
    case "coming":
      return "has not asked yet";
    case "waiting":
      return "waits";
    case "preempted":
      return "had to make room, waits again";
    case "running":
      return out ? `${counted(out, "token")} so far` : `${counted(positions, "token")} of the prompt in the cache`;
    case "done":
      return `done, ${counted(out, "token")}`;
    case "cancelled":
      return `gave up after ${counted(out, "token")}`;
    default:
      return "refused";
  }
}
