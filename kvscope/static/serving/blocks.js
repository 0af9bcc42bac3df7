/** The block pool after a pass: the requests of each block, its filled rows, the rows the pass wrote, and the waste. Pure. */

import { listed } from "../shared/facts/format.js";
import { chosenOf, runningOf } from "./measures.js";

const ENDED_STATES = ["done", "cancelled"];
/** The most blocks that are drawn; further free ones add nothing. */
const MOST_DRAWN = 144;
/** The most blocks of a round (model/settings.py). */
export const MOST_BLOCKS = 256;

const NEW_CELL = { evictedAs: null, hit: false, others: false, filled: 0, written: 0 };

/**
 * @typedef {Object} Cell a block
 * @property {number} id
 * @property {number[]} owners running requests that hold it
 * @property {number[]} cachedOf ended requests in whose table it still is; of a round that finds full blocks, the request that filled it
 * @property {number|null} evictedAs its place among the cached blocks of such a round, from 1 for the next to be evicted
 * @property {boolean} hit whether a request that joined with this pass found it full in the cache
 * @property {boolean} others whether another run holds it
 * @property {number} filled filled rows
 * @property {number} written rows that this pass wrote
 */

/**
 * @param {Object} pass
 * @param {number} blockSize
 * @returns {Map<number, Cell>} by id, all blocks that are held
 */
export function blocksOf(pass, blockSize) {
  const cells = new Map();
  const cellOf = (id) => {
    if (!cells.has(id)) cells.set(id, { id, ...NEW_CELL, owners: [], cachedOf: [] });
    return cells.get(id);
  };
  pass.requests.forEach(({ state, positions, table }, request) => {
    const member = pass.members.find((each) => each.request === request);
    table.forEach((id, at) => {
      const cell = cellOf(id);
      if (state === "running") cell.owners.push(request);
      else if (ENDED_STATES.includes(state)) cell.cachedOf.push(request);
      cell.filled = Math.max(cell.filled, within(at, blockSize, 0, positions));
      if (member && state === "running") {
        cell.written = Math.max(cell.written, within(at, blockSize, positions - stayed(member), positions));
      }
    });
  });
  for (const [at, { block, request }] of (pass.pool.cached ?? []).entries())
    Object.assign(cellOf(block), { cachedOf: [request], evictedAs: at + 1, filled: blockSize });
  for (const { what, request, count } of pass.events) {
    if (what !== "shared") continue;
    for (const id of pass.requests[request].table.slice(0, Math.floor(count / blockSize))) cellOf(id).hit = true;
  }
  for (const id of pass.pool.others) cellOf(id).others = true;
  return cells;
}

/** @returns {number} how many of the newest rows of a pass stay in the cache: all but those of wrong guesses */
function stayed(member) {
  return member.phase === "prefill" ? member.rows : chosenOf(member).length;
}

/** @returns {number} how many positions of [first, end) are in block `at` of a table */
function within(at, blockSize, first, end) {
  return Math.max(0, Math.min(end, (at + 1) * blockSize) - Math.max(first, at * blockSize));
}

/**
 * Returns the blocks to draw: those that the workload has held so far, then free ones, up to the number it may hold. Blocks
 * of other runs are only counted. A contiguous round has its own region, all of which is drawn.
 *
 * @param {import("./workload-log.js").Round} round
 * @param {Object} pass
 * @param {Set<number>} everTouched by any pass of the round
 * @returns {number[]} their ids in order; the list only grows during a round, so that no cell moves
 */
export function drawnBlocks(round, pass, everTouched) {
  const { region } = pass.pool;
  if (region) return Array.from({ length: Math.min(region.blocks, MOST_BLOCKS) }, (_, at) => region.first + at);
  const touched = new Set(everTouched);
  const others = new Set(pass.pool.others);
  const { blocks } = pass.pool;
  const most = Math.min(blocks, round.settings.blocks, MOST_DRAWN);
  for (let id = 0; id < blocks && touched.size < most; id++) if (!others.has(id)) touched.add(id);
  return [...touched].sort((a, b) => a - b);
}

/**
 * @typedef {Object} Waste
 * @property {number} held blocks that running requests hold, each counted once
 * @property {number} room rows that fit into these
 * @property {number} filled of these
 * @property {number} share of the room that is not filled
 */

/** @returns {Waste|null} of the blocks of running requests; null if none are running */
export function wasteOf(pass, blockSize) {
  const held = [...blocksOf(pass, blockSize).values()].filter(({ owners }) => owners.length);
  if (!held.length) return null;
  const filled = held.reduce((sum, cell) => sum + cell.filled, 0);
  return waste(held.length, filled, blockSize);
}

/**
 * Returns the mean waste of a round, over the passes after which a request is running, weighted by their time.
 *
 * @returns {{share: number, unfilled: number, worst: Waste}|null} `unfilled`: rows, on average; null if there are none
 */
export function wasteOver({ passes }, blockSize) {
  let [share, unfilled, time] = [0, 0, 0];
  let worst = null;
  for (const pass of passes) {
    const waste = wasteOf(pass, blockSize);
    if (!waste) continue;
    share += waste.share * pass.ms;
    unfilled += (waste.room - waste.filled) * pass.ms;
    time += pass.ms;
    if (!worst || waste.share > worst.share) worst = waste;
  }
  return time ? { share: share / time, unfilled: unfilled / time, worst } : null;
}

/**
 * Computes the waste if each running request had its own blocks for its greatest length.
 *
 * @param {Object} pass
 * @param {{tokens: number, max_new_tokens: number}[]} requests
 * @returns {Waste|null}
 */
export function reservedWaste(pass, requests, blockSize) {
  const running = runningOf(pass);
  if (!running.length) return null;
  const held = running.reduce((sum, { request }) => sum + blocksForAll(requests[request], blockSize), 0);
  const filled = running.reduce((sum, { positions }) => sum + positions, 0);
  return waste(held, filled, blockSize);
}

/** @returns {number} blocks for a request at its greatest length; the model never reads its last token */
export function blocksForAll({ tokens, max_new_tokens }, blockSize) {
  return Math.ceil((tokens + max_new_tokens - 1) / blockSize);
}

function waste(held, filled, blockSize) {
  const room = held * blockSize;
  return { held, room, filled, share: 1 - filled / room };
}

/** @returns {{ids: number[], requests: number}|null} the blocks that most running requests share */
export function sharedBlocks(cells) {
  const shared = [...cells.values()].filter(({ owners }) => owners.length > 1);
  if (!shared.length) return null;
  const requests = Math.max(...shared.map(({ owners }) => owners.length));
  return { ids: shared.filter(({ owners }) => owners.length === requests).map(({ id }) => id), requests };
}

/**
 * Returns the newest copy-on-write of a shared block up to a pass.
 *
 * @param {import("./workload-log.js").Round} round
 * @param {{what: string, request: number, pass: number|null}[]} events of it
 * @param {number} number of the pass
 * @returns {{request: number, from: number, to: number}|null}
 */
export function lastCopy({ passes }, events, number, blockSize) {
  const copy = events.findLast(({ what, pass }) => what === "copied" && pass !== null && pass <= number);
  if (!copy) return null;
  const { request } = copy;
  const at = copy.pass - passes[0].number;
  const pass = passes[at];
  const { table } = pass.requests[request];
  const before = tableBefore(pass, passes[at - 1], request, blockSize);
  const place = before.findIndex((id, entry) => table[entry] !== undefined && table[entry] !== id);
  return place < 0 ? null : { request, from: before[place], to: table[place] };
}

/** The table before the pass; of a request that has just joined, the entries that it shares with another table. */
function tableBefore(pass, last, request, blockSize) {
  const shared = pass.events.find(({ what, request: who }) => what === "shared" && who === request);
  if (!shared) return last?.requests[request].table ?? [];
  return pass.requests[shared.other].table.slice(0, Math.ceil(shared.count / blockSize));
}

/** @returns {string} "0–3", "0–3, 7 and 9" */
export function rangesOf(ids) {
  const ranges = [];
  for (const id of [...ids].sort((a, b) => a - b)) {
    const last = ranges.at(-1);
    if (last && last[1] === id - 1) last[1] = id;
    else ranges.push([id, id]);
  }
  return listed(ranges.map(([low, high]) => (low === high ? `${low}` : `${low}–${high}`)));
}
