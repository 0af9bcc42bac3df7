/** What a round has come to so far. Each of its passes is folded in once, as it comes, however long the round gets. */

import { barOf } from "./lanes.js";
import { chosenOf, endOf } from "./measures.js";

/**
 * @typedef {{token: Object, ms: number, pass: number}} Word when it was out, and of which pass
 *
 * @typedef {{from: number, to: number}} Span in ms
 *
 * @typedef {Object} Answer what became of one request in one round
 * @property {number} request
 * @property {number} arrived ms, as is every time here since the round began
 * @property {number|null} began when the first pass with rows of it began
 * @property {Word[]} words
 * @property {number} rows computed in all for it
 * @property {number} shared rows of its beginning that were there already
 * @property {(Span & {rows: number, pass: number, again: boolean})[]} reads passes that read of its prompt; `again`: once
 *   more, after it was set back
 * @property {number[]} setBack when it was
 * @property {Span[]} waited from asking, or from being set back, until it was taken into a pass
 * @property {number|null} waits since when it waits, where it was not taken yet
 * @property {{what: "done"|"cancelled"|"refused", ms: number}|null} end
 *
 * @typedef {Span & {ms: number, reader: number, requests: number[]}} Stall somebody waited so long for a word while the
 *   prompt of `reader` was read; `requests`: all who did
 */

const ENDS = ["done", "cancelled", "refused"];

export class Tally {
  #folded = 0;
  #ended = false;
  /** By request, whose prompts were read since its last word. */
  #readers = [];

  constructor() {
    /** @type {Answer[]} one per request */
    this.answers = [];
    /** All events of the round in order, each with the number of the `pass` that told it; null: the end did. */
    this.events = [];
    /** Blocks that were in anybody's table. */
    this.touched = new Set();
    /** Entries of the longest block table. */
    this.longest = 0;
    /** Rows of the largest pass. */
    this.mostRows = 0;
    /** @type {Stall|null} the longest that anybody waited for a word while another's prompt was read */
    this.stall = null;
  }

  /** @returns {number} it is another one when something was folded in */
  get version() {
    return this.#folded + Number(this.#ended) + this.answers.length;
  }

  /**
   * Take what is new of a round.
   *
   * @param {import("../log/workload.js").Round} round the same one each time
   * @param {{arrives_ms: number}[]} requests
   */
  take(round, requests) {
    for (let at = this.answers.length; at < requests.length; at++) this.#ask(requests[at], at);
    for (; this.#folded < round.passes.length; this.#folded++) this.#fold(round.passes[this.#folded]);
    if (!round.end || this.#ended) return;
    this.#ended = true;
    this.#hear(round.end.events, null);
  }

  #ask({ arrives_ms: arrived }, request) {
    this.answers.push({
      ...{ request, arrived, began: null, words: [], rows: 0, shared: 0, end: null },
      ...{ reads: [], setBack: [], waited: [], waits: arrived },
    });
    this.#readers.push(new Set());
  }

  #fold(pass) {
    this.#hear(pass.events, pass.number);
    for (const member of pass.members) this.#serve(pass, member);
    this.#lookForStall(pass);
    for (const { table } of pass.requests) {
      this.longest = Math.max(this.longest, table.length);
      for (const id of table) this.touched.add(id);
    }
    const { prefill, decode, guessed, others } = barOf(pass);
    this.mostRows = Math.max(this.mostRows, prefill + decode + guessed + others);
  }

  #hear(events, pass) {
    for (const event of events) {
      this.events.push({ ...event, pass });
      const { what, ms, request, count } = event;
      const answer = this.answers[request];
      if (what === "arrived") answer.arrived = answer.waits = ms;
      if (what === "preempted") {
        answer.setBack.push(ms);
        answer.waits = ms;
      }
      // A request that was set back may find its beginning again: what counts is what it was spared at first.
      if (what === "shared" && answer.shared === 0) answer.shared = count ?? 0;
      if (ENDS.includes(what)) answer.end = { what, ms };
    }
  }

  #serve({ start_ms, ms, number }, member) {
    const { request, phase, rows } = member;
    const answer = this.answers[request];
    answer.began ??= start_ms;
    answer.rows += rows;
    if (answer.waits !== null && answer.waits <= start_ms) {
      if (answer.waits < start_ms) answer.waited.push({ from: answer.waits, to: start_ms });
      answer.waits = null;
    }
    if (phase !== "prefill") return;
    const again = answer.setBack.some((at) => at <= start_ms);
    answer.reads.push({ from: start_ms, to: start_ms + ms, rows, pass: number, again });
    for (const readers of this.#readers) readers.add(request);
  }

  /** Whoever gets a word in a pass has waited for it since the last one. */
  #lookForStall(pass) {
    const to = endOf(pass);
    const waits = [];
    for (const member of pass.members) {
      const { request } = member;
      const chosen = chosenOf(member);
      if (!chosen.length) continue;
      const { words } = this.answers[request];
      const from = words.at(-1)?.ms ?? null;
      const readers = [...this.#readers[request]].filter((reader) => reader !== request);
      this.#readers[request].clear();
      for (const token of chosen) words.push({ token, ms: to, pass: pass.number });
      if (from !== null && readers.length) waits.push({ request, from, reader: Math.min(...readers) });
    }
    const from = Math.min(...waits.map((wait) => wait.from));
    if (!waits.length || to - from <= (this.stall?.ms ?? 0)) return;
    const reader = Math.min(...waits.filter((wait) => wait.from === from).map((wait) => wait.reader));
    const requests = waits.filter((wait) => wait.from === from).map(({ request }) => request);
    this.stall = { ms: to - from, from, to, reader, requests };
  }
}

/** @returns {Tally} of a round as it is now */
export function tallyOf(round, requests) {
  const tally = new Tally();
  tally.take(round, requests);
  return tally;
}

/** @returns {Answer[]} one per request */
export function answersOf(round, requests) {
  return tallyOf(round, requests).answers;
}
