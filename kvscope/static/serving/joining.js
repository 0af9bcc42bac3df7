/** Sentences on why a request waits, and why it shares nothing, from the passes of the log. Pure. */

import { integer } from "../shared/facts/format.js";
import { tokenCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { runningOf } from "./measures.js";
import { letterOf } from "./owners.js";

/**
 * @param {Object} event `waits` of a request
 * @param {import("./workload-log.js").Settings} settings of the round
 * @returns {string} the reason, a sentence
 */
export function whyWaits(event, settings) {
  const { why, count } = event;
  if (why === "static") return msg`No request joins until all requests in the batch are done.`;
  if (why === "places") {
    const number = integer(count);
    return plural(
      count,
      form`The batch is full: at most ${number} request is served at once.`,
      form`The batch is full: at most ${number} requests are served at once.`,
    );
  }
  if (why === "budget") {
    const number = integer(count);
    return msg`The token budget is used up: next tokens and parts of prompts take all ${number} of the pass.`;
  }
  if (why === "order") return msg`${letterOf(event.other)} is before it in the queue and waits too.`;
  if (why === "stretch") return [reservesText(count), stretchText(event.free, event.longest)].join(" ");
  if (why === "blocks" && settings.contiguous)
    return [reservesText(count), freeText(event.free, settings.blocks)].join(" ");
  const needed = integer(count);
  const free = integer(event.free);
  const all = integer(settings.blocks);
  return plural(
    count,
    form`The prompts to be read need ${needed} more block; ${free} of ${all} are free.`,
    form`The prompts to be read need ${needed} more blocks; ${free} of ${all} are free.`,
  );
}

function reservesText(count) {
  const number = integer(count);
  return plural(count, form`It reserves ${number} block.`, form`It reserves ${number} blocks in a row.`);
}

function stretchText(free, longest) {
  const all = integer(free);
  const inRow = integer(longest);
  return plural(
    free,
    form`${all} block is free, but at most ${inRow} in a row.`,
    form`${all} blocks are free, but at most ${inRow} in a row.`,
  );
}

function freeText(free, blocks) {
  const all = integer(blocks);
  const number = integer(free);
  return plural(free, form`${number} of ${all} blocks is free.`, form`${number} of ${all} blocks are free.`);
}

/**
 * @param {import("./workload-log.js").Round} round
 * @param {number} number of the pass that a request joined with nothing shared
 * @param {number} request
 * @returns {string} why not, a sentence
 */
export function whyNothingShared({ passes, settings }, number, request) {
  if (settings.contiguous) return msg`It shares nothing: in this round each request has its own stretch.`;
  if (!settings.sharing) return msg`It shares nothing: sharing is off in this round.`;
  if (settings.prefix === "blocks") return msg`It finds no block: no full block in the cache has its first tokens.`;
  const at = number - passes[0].number;
  const others = (passes[at - 1]?.requests ?? []).filter((state, who) => who !== request && state.positions > 0);
  const evicted = passes[at].events.filter(({ what }) => what === "evicted").map(({ request: who }) => who);
  const holders = others.filter(({ table }) => table.length > 0);
  if (!holders.length) return msg`It shares nothing: the pool held no other request yet.`;
  if (holders.every(({ dropped }) => dropped > 0))
    return msg`It shares nothing: the requests in the pool have dropped rows, and rows with gaps are not shared.`;
  if (evicted.length >= holders.length)
    return msg`It shares nothing: the cached blocks were evicted to make space for it.`;
  return msg`It shares nothing: its first token differs from theirs.`;
}

/**
 * @param {import("./workload-log.js").Round} round
 * @param {Object} pass after which no two running requests have a block in common
 * @param {import("./measures.js").Answer[]} answers
 * @param {number} blockSize
 * @returns {string|null} why, a sentence; null if no two requests could share
 */
export function whyNoBlockShared({ settings }, pass, answers, blockSize) {
  const running = runningOf(pass);
  if (settings.contiguous) return msg`No block is shared: in this round each request has its own stretch.`;
  if (!settings.sharing) return msg`No block is shared: sharing is off in this round.`;
  if (running.length < 2) return null;
  if (settings.prefix === "blocks")
    return msg`No block is shared now: only full blocks of the same tokens from the first are.`;
  if (running.some(({ dropped }) => dropped > 0))
    return msg`No block is shared: rows were dropped, and rows with gaps are not shared.`;
  const most = Math.max(...running.map(({ request }) => answers[request].shared));
  if (most === 0)
    return msg`No block is shared: when each request joined, no request in the pool began with the same tokens.`;
  if (most < blockSize)
    return msg`No block is shared: the common beginning has ${tokenCount(most)}, and a block has ${blockSize}.`;
  return msg`No block is shared: the request with the same beginning has ended.`;
}
