/** What a round has come to so far. Each of its passes is folded in once, as it comes, however long the round gets. */

import { disturbance } from "../shared/facts/conditions.js";
import { chosenOf, endOf, rowsOf, tokensOut } from "./measures.js";

/**
 * @typedef {import("./measures.js").Answer} Answer
 *
 * @typedef {{from: number, to: number, ms: number, reader: number, requests: number[]}} Stall somebody waited so long for a token
 *   while the prompt of `reader` was read; `requests`: all who did
 */

const AT_THE_END = ["first", "done"];
const ENDS = ["done", "cancelled", "refused"];

export class Tally {
  #folded = 0;
  #ended = false;
  #last = null;
  /** By request, whose prompts were read since its last token. */
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
    /**
     * Of the passes in which each got a token, no prompt was read and that nothing disturbed, by how many these were: ms of the passes, ms between
     * them and the next while somebody is being answered, and tokens.
     *
     * @type {Map<number, {passes: number, ms: number, between: number, tokens: number}>}
     */
    this.byMembers = new Map();
    /** @type {Stall|null} the longest that anybody waited for a token while another's prompt was read */
    this.stall = null;
  }

  /** @returns {number} it is another one when something was folded in */
  get version() {
    return this.#folded + Number(this.#ended) + this.answers.length;
  }

  /**
   * Take what is new of a round.
   *
   * @param {import("../shared/log/workload.js").Round} round the same one each time
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
    this.#timeBefore(pass);
    this.#hear(pass.events, pass);
    for (const member of pass.members) this.#serve(pass, member);
    this.#lookForStall(pass);
    for (const { table } of pass.requests) {
      this.longest = Math.max(this.longest, table.length);
      for (const id of table) this.touched.add(id);
    }
    this.mostRows = Math.max(this.mostRows, rowsOf(pass) + pass.others.rows);
  }

  /** What was between this pass and the last one counts to the last one; then this one counts. */
  #timeBefore(pass) {
    if (this.#last?.goesOn) this.#last.count.between += Math.max(0, pass.start_ms - this.#last.end);
    this.#last = null;
    const { members, others, requests } = pass;
    if (!members.length || others.rows || disturbance(pass) || members.some(({ phase }) => phase === "prefill")) return;
    const count = this.byMembers.get(members.length) ?? { passes: 0, ms: 0, between: 0, tokens: 0 };
    this.byMembers.set(members.length, count);
    count.passes += 1;
    count.ms += pass.ms;
    count.tokens += tokensOut(pass);
    this.#last = { count, end: endOf(pass), goesOn: requests.some(({ state }) => state === "running") };
  }

  #hear(events, pass) {
    for (const event of events) {
      const { what, request, count } = event;
      // A token is there when its pass is over, whenever the log's writer heard of it.
      const ms = AT_THE_END.includes(what) && pass ? endOf(pass) : event.ms;
      this.events.push({ ...event, ms, pass: pass?.number ?? null });
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

  /** Whoever gets a token in a pass has waited for it since the last one. */
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
