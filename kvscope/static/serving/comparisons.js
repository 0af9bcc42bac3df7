/**
 * The result of two rounds of an experiment, in sentences. Passes, rows and blocks are counted in the log and are the same on any
 * machine. Times depend on the machine. A sentence names a cause of a time only if the log counts it. Pure.
 */

import { disturbanceOfAll } from "../shared/facts/conditions.js";
import { fixed, integer, listed, percent } from "../shared/facts/format.js";
import { blockCount, passCount, rowCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import {
  busyShare,
  doneMs,
  longestPrompt,
  mostBlocks,
  preemptionsIn,
  rowsComputed,
  runningOf,
  sumOf,
  tokensPerSecond,
} from "./measures.js";
import { letterOf } from "./owners.js";
import { wholeMs } from "./whole-ms.js";

/**
 * @typedef {{round: import("./workload-log.js").Round, answers: import("./measures.js").Answer[], requests: Object[], name:
 * string}} Side a round and its name
 */

/** Passes with rows of the workload. */
const served = ({ round }) => round.passes.filter(({ members }) => members.length);
const passesOf = (side) => served(side).length;

/** @returns {number} the most blocks at one time that were in the tables of several running requests */
function mostShared({ round }) {
  const of = (pass) => {
    const times = new Map();
    for (const { table } of runningOf(pass)) for (const id of table) times.set(id, (times.get(id) ?? 0) + 1);
    return [...times.values()].filter((count) => count > 1).length;
  };
  return Math.max(0, ...round.passes.map(of));
}

/** @returns {number} rows that requests had dropped, each at its end or at the last pass */
function droppedIn({ round }) {
  const most = new Map();
  for (const { requests } of round.passes)
    requests.forEach(({ dropped }, request) => most.set(request, Math.max(dropped, most.get(request) ?? 0)));
  return sumOf([...most.values()]);
}

const meanMs = (side) => doneMs(side.round) / passesOf(side);

/** Two shares of busy time count as equal up to this difference. */
const ALIKE_BUSY = 0.1;

const sentences = (...each) => each.flat().filter(Boolean).join(" ");

/** @returns {string[]} sentences on a round that took longer although its setting should save time; empty if it did not */
function tookLonger(before, after) {
  if (!(doneMs(after.round) > doneMs(before.round)) || disturbedText([before, after])) return [];
  const of = (side) => {
    const { name } = side;
    const interval = wholeMs(meanMs(side));
    return msg`Round “${name}”: ${passCount(passesOf(side))}, ${interval} from one to the next.`;
  };
  return [msg`Round “${after.name}” still took longer.`, of(after), of(before)];
}

/** @param {Side} before @param {Side} after */
export function batchingResult(before, after) {
  const of = (side) => {
    const { name, round } = side;
    return msg`Round “${name}”: ${passCount(passesOf(side))} for ${rowCount(rowsComputed(round))}.`;
  };
  return sentences(of(before), of(after), tookLonger(before, after));
}

/** @param {Side} before @param {Side} after */
export function chunkResult(before, after) {
  const reader = longestPrompt(after.requests);
  const [whole, parts] = [before, after].map(({ answers }) => answers[reader].reads.length);
  if (!whole || !parts) return null;
  const letter = letterOf(reader);
  return sentences(
    msg`Reading ${letter}’s prompt took ${passCount(whole)} in the largest parts and ${passCount(parts)} in chunks.`,
    msg`Other requests get a token in each of these passes, and ${letter} gets its first token only in the last.`,
  );
}

/** @param {Side} before @param {Side} after */
export function sharingResult(before, after) {
  const sharers = after.answers.filter(({ shared }) => shared > 0);
  if (!sharers.length)
    return sentences(
      msg`Nothing was shared: when each request joined, no request in the pool began with the same tokens.`,
      msg`The list “What happened” has the reason for each.`,
    );
  const rows = rowCount(sumOf(sharers.map(({ shared }) => shared)));
  const reused = plural(
    sharers.length,
    form`${sharers.length} request found ${rows} of its beginning in the pool, so the engine did not compute these again.`,
    form`${sharers.length} requests found ${rows} of their beginnings in the pool, so the engine did not compute these again.`,
  );
  return sentences(reused, tookLonger(before, after));
}

/** @param {Side} before @param {Side} after */
export function reserveResult(before, after) {
  const { times, rows } = preemptionsIn(after);
  const memory = times
    ? msg`Paged memory ran out. Preemptions: ${times}. Computed again: ${rowCount(rows)}.`
    : msg`Paged memory was enough: no request was preempted.`;
  return sentences(memory, tookLonger(before, after));
}

/** @param {Side} before @param {Side} after */
export function evictionResult(before, after) {
  const dropped = droppedIn(after);
  const limit = sumOf(Object.values(after.round.settings.keep ?? {}));
  if (!dropped) return msg`No request had more than ${rowCount(limit)} between two tokens, so nothing was dropped.`;
  const [all, some] = [before, after].map(({ round }) => mostBlocks(round));
  const [shared, still] = [before, after].map(mostShared);
  const number = integer(dropped);
  return sentences(
    plural(
      dropped,
      form`${number} row was dropped, and later tokens could not attend to it.`,
      form`${number} rows were dropped, and later tokens could not attend to them.`,
    ),
    blocksSaved(all, some, shared > still ? shared : 0),
  );
}

/** @param {...Side} sides with more and more requests at once */
export function busyResult(...sides) {
  const [first, last] = [sides[0], sides.at(-1)];
  if (disturbedText(sides)) return null;
  const of = ({ name, round }) => {
    const [share, rate] = [percent(busyShare(round), 0), fixed(tokensPerSecond(round), 0)];
    return msg`Round “${name}”: busy ${share} of the time, ${rate} tokens per second.`;
  };
  const [one, other] = [first, last].map(({ round }) => busyShare(round));
  const alike = Math.abs(one - other) < ALIKE_BUSY;
  const rule = alike
    ? msg`The share of busy time is nearly the same, so it does not show how much more the engine can serve. Tokens per second and the queue do.`
    : msg`Here the share of busy time differs: with little to do, the engine waited for requests.`;
  return sentences(of(first), of(last), rule);
}

/** @returns {string[]} */
function blocksSaved(all, some, shared) {
  if (some < all) return [msg`Requests held at most ${blockCount(some)} instead of ${integer(all)}.`];
  if (shared)
    return [
      msg`This saved no blocks.`,
      msg`With all rows, several requests shared up to ${blockCount(shared)}. Rows with gaps cannot be shared, so each request held its own.`,
    ];
  return [msg`This saved no blocks: requests held at most ${blockCount(some)}, and ${integer(all)} with all rows.`];
}

/**
 * What disturbed the passes of some rounds, so that none of their times counts as better.
 *
 * @param {{round: Object, name: string}[]} sides
 * @returns {string|null} null if the log has no disturbance
 */
export function disturbedText(sides) {
  const each = sides
    .map((side) => ({ name: side.name, what: disturbanceOfAll(served(side)) }))
    .filter(({ what }) => what);
  if (!each.length) return null;
  const causes = listed(each.map(({ name, what }) => msg`“${name}”: ${what}`));
  return msg`Do not rely on these times: they were disturbed. ${causes}.`;
}
