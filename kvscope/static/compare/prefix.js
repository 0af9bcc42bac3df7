/**
 * How much of a prompt's K and V a run read from the cache, and why it computed the rest, in comparison with an earlier run. Pure.
 *
 * A run reads rows of earlier runs of the same client (docs/frames.md, Prefix reuse). Its log says how many it read (`reused`) and why not
 * more (`prefix`); both logs together say how many first tokens they share.
 */

import { keyOf, sameModel } from "../shared/compare/alignment.js";

/**
 * @typedef {"differs"|"ended"|"last"|"off"|"no_client"|"evicted"|"computing"|"window"|"unshared"|"elsewhere"|"unknown"} Reason
 *   differs: another token than the earlier run has; ended: the earlier run computed no such row; last: the last row of a prompt is always
 *   computed; unshared: the client of the earlier run is not known; elsewhere: no run of this client had the row on this engine; unknown: the logs do not say why
 */

/**
 * @param {import("../shared/log/run.js").Run} a
 * @param {import("../shared/log/run.js").Run} b
 * @returns {{later: "a"|"b"|null, common?: number, reused?: number, prompt?: number, blockSize?: number, blocks?: {first: number, last: number,
 *   state: "shared"|"copied"|"computed", reason: Reason|null}[], reasons?: {reason: Reason, first: number, last: number}[]}|null} `common`: rows that
 *   the earlier run computed for the same first tokens; `reasons`: of the rows that were computed; null for different models, and for branches,
 *   twins and changed runs, which begin in other ways. `later` null: both began in the same second, the unit of a log, and nothing else is known
 */
export function prefixOf(a, b) {
  if (!sameModel(a, b) || [a, b].some(({ open }) => open.parent || open.study || open.changed)) return null;
  const [before, after] = [a.open.created, b.open.created];
  if (before === after) return { later: null };
  const later = before < after ? "b" : "a";
  const [earlier, run] = later === "b" ? [a, b] : [b, a];
  const common = commonRows(earlier, run);
  const { reused, promptLength: prompt } = run;
  const reasonOf = (row) => reasonOfRow(row, { run, earlier, common });
  const reasons = [];
  for (let row = reused; row < prompt; row++) {
    const reason = reasonOf(row);
    if (reasons.at(-1)?.reason === reason) reasons.at(-1).last = row;
    else reasons.push({ reason, first: row, last: row });
  }
  const blockSize = run.open.block_size;
  const blocks = Array.from({ length: Math.ceil(prompt / blockSize) }, (_, i) => {
    const [first, last] = [i * blockSize, Math.min((i + 1) * blockSize, prompt) - 1];
    /** @type {"shared"|"copied"|"computed"} */
    const state = last < reused ? "shared" : first < reused ? "copied" : "computed";
    return { first, last, state, reason: state === "shared" ? null : reasonOf(Math.max(first, reused)) };
  });
  return { later, common, reused, prompt, blockSize, blocks, reasons };
}

/** The rows that the earlier run computed for the first tokens of the prompt. */
function commonRows(earlier, run) {
  const key = keyOf(earlier, run);
  const most = Math.min(earlier.positions, run.promptLength);
  let at = 0;
  while (at < most && key(earlier.tokens[at]) === key(run.tokens[at])) at += 1;
  return at;
}

/** @returns {Reason} why a row that the run computed was not read */
function reasonOfRow(row, { run, earlier, common }) {
  if (row === run.promptLength - 1) return "last";
  if (row >= common) return common < earlier.positions ? "differs" : "ended";
  const { prefix } = run.open;
  if (!prefix) return "unknown";
  if (prefix.reason === "off" || prefix.reason === "no_client") return prefix.reason;
  if (row < prefix.common && prefix.reason) return prefix.reason;
  if (earlier.open.prefix?.reason === "no_client") return "unshared";
  // The earlier run's answer may have come to these tokens only after the later run began.
  return row >= earlier.promptLength ? "unknown" : "elsewhere";
}
