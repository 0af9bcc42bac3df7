/**
 * Which heads of a run are worth seeing, found by measuring every attention row of its log. Pure except for the tally, which
 * grows with the run: a row is measured once.
 *
 * Four measurements, each the highest of all heads:
 * - first token: mean weight on key 0, over queries ≥ 1 (an "attention sink");
 * - token before: mean weight on key q − 1, over queries ≥ 2 (before query 1 is the first token itself);
 * - repeat: mean weight on the token that followed the last earlier occurrence of the query's token, over the queries
 *   that have one ("induction"); that token is neither the query nor its neighbour;
 * - link: the largest single weight between two words, the key being neither the first token, nor the query, nor its neighbour.
 */

import { percent, quoted } from "../../shared/facts/format.js";
import { weightOf } from "../../shared/log/companding.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { isWord } from "../facts/opening-head.js";

/** With fewer rows than this all heads look the same. */
const LEAST_POSITIONS = 4;
/** Heads with a smaller share are not listed. */
const LEAST_SHARE = 0.2;
/** A key this far back is neither the query itself nor its neighbour. */
const APART = 2;

/**
 * @param {{layers: number, heads: number}} shape
 * @returns {Object} an empty tally, one number per head and measurement; `rows`: how many rows of each head are in it
 */
export function emptyTally({ layers, heads }) {
  const count = layers * heads;
  const cells = () => Array.from({ length: count }, () => ({ shade: 0, query: -1, key: -1 }));
  return {
    heads,
    rows: new Int32Array(count),
    first: new Float64Array(count),
    before: new Float64Array(count),
    repeat: new Float64Array(count),
    repeats: 0,
    repeatCell: cells(),
    linkCell: cells(),
  };
}

/**
 * Adds the rows that are new since the last call. Yields after every head, so that a caller can share the processor; the tally
 * stays valid when the caller stops before the end.
 *
 * @param {Object} tally from `emptyTally`
 * @param {import("../../shared/log/run.js").Run} run the same run every time
 * @param {number} positions rows to have in the tally at the end
 */
export function* addRows(tally, run, positions) {
  const words = Array.from({ length: positions }, (_, position) => isWord(run.tokens[position]));
  const followers = followersOf(run.tokens, positions);
  tally.repeats = followers.filter((key, query) => key !== null && query >= run.reused).length;
  for (let at = 0; at < tally.rows.length; at++) {
    const [layer, head] = [Math.floor(at / tally.heads), at % tally.heads];
    for (let query = Math.max(run.reused, tally.rows[at]); query < positions; query++) {
      addRow(tally, at, run.row(layer, head, query), { query, words, follower: followers[query] });
    }
    tally.rows[at] = positions;
    yield;
  }
}

function addRow(tally, at, row, { query, words, follower }) {
  if (query >= 1) tally.first[at] += weightOf(row[0]);
  if (query >= 2) tally.before[at] += weightOf(row[query - 1]);
  if (follower !== null) {
    tally.repeat[at] += weightOf(row[follower]);
    raise(tally.repeatCell[at], row[follower], query, follower);
  }
  if (!words[query]) return;
  const link = tally.linkCell[at];
  for (let key = 1; key <= query - APART; key++)
    if (row[key] > link.shade && words[key]) raise(link, row[key], query, key);
}

function raise(cell, shade, query, key) {
  if (shade > cell.shade) Object.assign(cell, { shade, query, key });
}

/**
 * @returns {(number|null)[]} per query, the position after the last earlier occurrence of its token, at least two before
 *   the query; null when the token has none
 */
export function followersOf(tokens, positions) {
  const seen = new Map();
  return Array.from({ length: positions }, (_, query) => {
    const past = query - APART - 1;
    if (past >= 0) seen.set(tokens[past].id, past);
    const earlier = seen.get(tokens[query].id);
    return earlier === undefined ? null : earlier + 1;
  });
}

/**
 * @returns {{kind: "first"|"before"|"repeat"|"link", layer: number, head: number, query: number|null, key: number|null,
 *   share: number, title: string, sentence: string}[]} at most one per measurement; `query`, `key`: the cell to choose,
 *   null: the newest row and its strongest key. Empty when the rows are too few, or not all heads have been measured.
 */
export function headsWorthSeeing(tally, run) {
  const positions = tally.rows[tally.rows.length - 1];
  if (!(positions - run.reused >= LEAST_POSITIONS)) return [];
  const heads = [
    best("first", tally.first, positions - Math.max(1, run.reused)),
    best("before", tally.before, positions - Math.max(2, run.reused)),
    best("repeat", tally.repeat, tally.repeats, tally.repeatCell),
    best(
      "link",
      tally.linkCell.map(({ shade }) => weightOf(shade)),
      1,
      tally.linkCell,
    ),
  ];
  return heads
    .filter((item) => item !== null && item.share >= LEAST_SHARE)
    .map(({ kind, at, share, count, cell }) => {
      const place = { layer: Math.floor(at / tally.heads), head: at % tally.heads };
      return {
        kind,
        ...place,
        query: cell?.query ?? null,
        key: cell?.key ?? null,
        share,
        ...wording(run, { kind, ...place, share, count, cell }),
      };
    });
}

function best(kind, sums, count, cells = null) {
  if (count < 1) return null;
  let at = 0;
  for (let other = 1; other < sums.length; other++) if (sums[other] > sums[at]) at = other;
  return { kind, at, share: sums[at] / count, count, cell: cells?.[at] ?? null };
}

function wording(run, { kind, layer, head, share, count, cell }) {
  const figure = percent(share, 0);
  const highest = msg`This is the highest mean of all ${run.layers * run.heads} heads.`;
  if (kind === "first") {
    const mean = plural(
      count,
      form`Layer ${layer}, head ${head} puts ${figure} of its weight on the first token, averaged over ${count} query.`,
      form`Layer ${layer}, head ${head} puts ${figure} of its weight on the first token, averaged over ${count} queries.`,
    );
    const why = msg`The usual explanation, not tested here: shares must add up to 1, also where a head needs no other token.`;
    return { title: msg`→ first token`, sentence: `${mean} ${highest} ${why}` };
  }
  if (kind === "before") {
    const mean = plural(
      count,
      form`Layer ${layer}, head ${head} puts ${figure} of its weight on the token just before, averaged over ${count} query.`,
      form`Layer ${layer}, head ${head} puts ${figure} of its weight on the token just before, averaged over ${count} queries.`,
    );
    return { title: msg`→ token before`, sentence: `${mean} ${highest}` };
  }
  if (kind === "repeat") {
    const mean = plural(
      count,
      form`When a token occurs again, layer ${layer}, head ${head} puts ${figure} on the token that followed it before, averaged over ${count} repeat.`,
      form`When a token occurs again, layer ${layer}, head ${head} puts ${figure} on the token that followed it before, averaged over ${count} repeats.`,
    );
    return { title: msg`→ after a repeat`, sentence: `${mean} ${highest}` };
  }
  const [query, key] = [cell.query, cell.key].map((position) => quoted(run.tokens[position], 12));
  const distance = cell.query - cell.key;
  const link = plural(
    distance,
    form`Layer ${layer}, head ${head}: ${query} puts ${figure} on ${key}, ${distance} token before.`,
    form`Layer ${layer}, head ${head}: ${query} puts ${figure} on ${key}, ${distance} tokens before.`,
  );
  const largest = msg`This is the largest single weight between two words that are not neighbours.`;
  return { title: `${query} → ${key}`, sentence: `${link} ${largest}` };
}

/**
 * The head that gives one chosen cell the most weight.
 *
 * @returns {{layer: number, head: number, share: number}|null} null while that row is not computed
 */
export function strongestOn(run, query, key) {
  if (!run.row(0, 0, query) || key > query) return null;
  let top = { layer: 0, head: 0, shade: -1 };
  for (let layer = 0; layer < run.layers; layer++) {
    for (let head = 0; head < run.heads; head++) {
      const shade = run.row(layer, head, query)[key];
      if (shade > top.shade) top = { layer, head, shade };
    }
  }
  return { layer: top.layer, head: top.head, share: weightOf(top.shade) };
}
