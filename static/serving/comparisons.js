/**
 * What two rounds of an experiment came to, in sentences. Passes, rows and blocks are counted in the log and are the same on any
 * machine; a time is told beside them, and no cause is given for it that was not counted. Pure.
 */

import { disturbanceOfAll } from "../shared/facts/conditions.js";
import { counted, integer, listed } from "../shared/facts/format.js";
import { formatOf } from "../shared/facts/weights.js";
import { doneMs, longestPrompt, mostBlocks, rowsComputed, runningOf } from "./measures.js";
import { letterOf } from "./owners.js";

/** @typedef {{round: import("../shared/log/workload.js").Round, answers: import("./measures.js").Answer[], requests: Object[], name: string}} Side a round, and what it is called */

/** Passes with rows of the workload. */
const served = ({ round }) => round.passes.filter(({ members }) => members.length);
const passesOf = (side) => served(side).length;

function sumOf(values) {
  return values.reduce((sum, value) => sum + value, 0);
}

/** @returns {{times: number, rows: number}} how often somebody was set back, and rows that were computed again for it */
function setBackIn({ answers }) {
  const again = answers.flatMap(({ reads }) => reads.filter((read) => read.again).map(({ rows }) => rows));
  return { times: sumOf(answers.map(({ setBack }) => setBack.length)), rows: sumOf(again) };
}

/** @returns {number} the most blocks at one time that stood in the tables of several who were being answered */
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
    requests.forEach(({ dropped = 0 }, request) => most.set(request, Math.max(dropped, most.get(request) ?? 0)));
  return sumOf([...most.values()]);
}

const meanMs = (side) => doneMs(side.round) / passesOf(side);

/** What the time until all were done is made of, where it went against what the setting is for. */
function tookLonger(before, after) {
  if (!(doneMs(after.round) > doneMs(before.round)) || disturbedSays([before, after])) return "";
  const of = (side) =>
    `${counted(passesOf(side), "pass", "passes")} with ${integer(meanMs(side))} ms from one to the next`;
  return ` It took longer all the same: ${after.name} ${of(after)}, ${before.name} ${of(before)}.`;
}

/** @param {Side} before @param {Side} after */
export function batchingSays(before, after) {
  const of = (side) => `${counted(passesOf(side), "pass", "passes")} for ${counted(rowsComputed(side.round), "row")}`;
  return `${capitalised(before.name)}: ${of(before)}; ${after.name}: ${of(after)}.${tookLonger(before, after)}`;
}

/** @param {Side} before @param {Side} after */
export function chunkSays(before, after) {
  const reader = longestPrompt(after.requests);
  const [whole, parts] = [before, after].map(({ answers }) => answers[reader].reads.length);
  if (!whole || !parts) return null;
  return `${letterOf(reader)}’s prompt was read in ${counted(whole, "pass", "passes")}, then in ${integer(parts)}: others get a token after each of these, and ${letterOf(reader)} its own first token only after the last.`;
}

/** @param {Side} before @param {Side} after */
export function sharingSays(before, after) {
  const sharers = after.answers.filter(({ shared }) => shared > 0);
  if (!sharers.length)
    return "Nothing was shared: when each person joined, nobody who was in the pool had the same beginning. What happened, below, says why for each.";
  const rows = sumOf(sharers.map(({ shared }) => shared));
  return `${counted(sharers.length, "person", "people")} found ${counted(rows, "row")} of their beginnings in the pool, and these were not computed again.${tookLonger(before, after)}`;
}

/** @param {Side} before @param {Side} after */
export function reserveSays(before, after) {
  const { times, rows } = setBackIn(after);
  const said = times
    ? `Paged memory ran out: ${counted(times, "time")} somebody had to make room, and ${counted(rows, "row")} had to be computed again.`
    : "Paged memory was enough: nobody had to make room.";
  return `${said}${tookLonger(before, after)}`;
}

/** @param {Side} before @param {Side} after */
export function keepSays(before, after) {
  const dropped = droppedIn(after);
  const kept = sumOf(Object.values(after.round.settings.keep ?? {}));
  if (!dropped) return `Nobody had more than ${integer(kept)} rows between two tokens, so nothing was dropped.`;
  const [all, some] = [before, after].map(({ round }) => mostBlocks(round));
  const [shared, still] = [before, after].map(mostShared);
  const said = [`${counted(dropped, "row was", "rows were")} dropped, and no later token could look at them.`];
  if (some < all) said.push(`At most ${counted(some, "block was", "blocks were")} held in place of ${integer(all)}.`);
  else if (shared > still)
    said.push(
      `That saved no blocks: with all rows kept, up to ${counted(shared, "block was", "blocks were")} held once for several people. Rows with gaps are not shared, so each person held blocks of their own.`,
    );
  else said.push(`That saved no blocks: ${integer(some)} were held at most, ${integer(all)} with all rows kept.`);
  return said.join(" ");
}

/**
 * What disturbed the passes of some rounds: then their times are not compared.
 *
 * @param {{round: Object, name: string}[]} sides
 * @returns {string|null} null where nothing did, as far as the log says
 */
export function disturbedSays(sides) {
  const each = sides
    .map((side) => ({ name: side.name, what: disturbanceOfAll(served(side)) }))
    .filter(({ what }) => what);
  if (!each.length) return null;
  return `Times are disturbed and not compared: ${listed(each.map(({ name, what }) => `${what} of “${name}”`))}.`;
}

/** Rounds of whose passes so much more read another format are not told apart by their setting alone. */
const OTHER_SHARE = 0.1;

/**
 * What the passes of some rounds read the weights in, where that is not alike: then a time is also one of the format.
 *
 * @param {{round: Object, name: string}[]} sides
 * @returns {string|null} null where it is alike, or where the log does not say it
 */
export function formatsSay(sides) {
  const read = sides.map((side) => served(side).filter((pass) => pass.weights_read));
  const formats = [...new Set(read.flat().map((pass) => formatOf(pass.weights_read)))].sort();
  if (formats.length < 2) return null;
  const [usual, ...others] = formats;
  const shares = read.map(
    (passes) => passes.filter((pass) => formatOf(pass.weights_read) === usual).length / passes.length,
  );
  if (Math.max(...shares) - Math.min(...shares) < OTHER_SHARE) return null;
  const each = sides.map(({ name }, at) => {
    const count = Math.round(shares[at] * read[at].length);
    return `${integer(count)} of ${counted(read[at].length, "pass", "passes")} with “${name}”`;
  });
  return `Weights as read: ${usual} in ${listed(each)}, and ${listed(others)} in the others. A pass of one row can run other code, so these times are not compared: they differ by more than the setting.`;
}

function capitalised(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
