/** The running result of a round. Each pass is added once, when it arrives, so that the cost does not grow with the round. */

import { disturbance } from "../shared/facts/conditions.js";
import { chosenOf, endOf, rowsOf, tokensOut } from "./measures.js";

/**
 * @typedef {import("./measures.js").Answer} Answer
 *
 * @typedef {{from: number, to: number, ms: number, reader: number, requests: number[]}} Stall the time for which `requests` waited for a
 *   token while the prompt of `reader` was read
 */

const AT_THE_END = ["first", "done"];
const ENDS = ["done", "cancelled", "refused"];

export class Tally {
  #added = 0;
  #ended = false;
  #last = null;
  /** For each request, the requests whose prompts were read since its last token. */
  #readers = [];

  constructor() {
    /** @type {Answer[]} one per request */
    this.answers = [];
    /** All events of the round in order, each with the number of its `pass`; null: the end of the round has it. */
    this.events = [];
    /** Blocks that were in any block table, or cached. */
    this.touched = new Set();
    /** Entries of the longest block table. */
    this.longest = 0;
    /** Rows of the largest pass. */
    this.mostRows = 0;
    /**
     * By number of requests, for undisturbed passes in which each got a token and no prompt was read: ms of the passes, ms from
     * them to the next pass while a request is running, and tokens.
     *
     * @type {Map<number, {passes: number, ms: number, between: number, tokens: number}>}
     */
    this.byMembers = new Map();
    /** @type {Stall|null} the longest wait for a token while another prompt was read */
    this.stall = null;
  }

  /** @returns {number} changes whenever something was added */
  get version() {
    return this.#added + Number(this.#ended) + this.answers.length;
  }

  /**
   * Adds the passes and events that the round has got since the last call.
   *
   * @param {import("./workload-log.js").Round} round the same one each time
   * @param {{arrives_ms: number}[]} requests
   */
  take(round, requests) {
    for (let at = this.answers.length; at < requests.length; at++)
      this.#addRequest(requests[at].arrives_ms / (round.settings.speed ?? 1), at);
    for (; this.#added < round.passes.length; this.#added++) this.#add(round.passes[this.#added]);
    if (!round.end || this.#ended) return;
    this.#ended = true;
    this.#addEvents(round.end.events, null);
  }

  #addRequest(arrived, request) {
    this.answers.push({
      ...{ request, arrived, began: null, outputs: [], rows: 0, shared: 0, end: null },
      ...{ reads: [], preemptions: [], waited: [], waits: arrived },
    });
    this.#readers.push(new Set());
  }

  #add(pass) {
    this.#timeBefore(pass);
    this.#addEvents(pass.events, pass);
    for (const member of pass.members) this.#addMember(pass, member);
    this.#lookForStall(pass);
    for (const { table } of pass.requests) {
      this.longest = Math.max(this.longest, table.length);
      for (const id of table) this.touched.add(id);
    }
    for (const { block } of pass.pool.cached ?? []) this.touched.add(block);
    this.mostRows = Math.max(this.mostRows, rowsOf(pass) + pass.others.rows);
  }

  /** Adds the time since the last pass to that pass, then starts counting this one. */
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

  #addEvents(events, pass) {
    for (const event of events) {
      const { what, request, count } = event;
      // A token exists when its pass ends, whatever time the log has for the event.
      const ms = AT_THE_END.includes(what) && pass ? endOf(pass) : event.ms;
      this.events.push({ ...event, ms, pass: pass?.number ?? null });
      const answer = this.answers[request];
      if (what === "arrived") answer.arrived = answer.waits = ms;
      if (what === "preempted") {
        answer.preemptions.push(ms);
        answer.waits = ms;
      }
      // A preempted request may find its beginning in the pool again; only the first time counts.
      if (what === "shared" && answer.shared === 0) answer.shared = count;
      if (ENDS.includes(what)) answer.end = { what, ms };
    }
  }

  #addMember({ start_ms, ms, number }, member) {
    const { request, phase, rows } = member;
    const answer = this.answers[request];
    answer.began ??= start_ms;
    answer.rows += rows;
    if (answer.waits !== null && answer.waits <= start_ms) {
      if (answer.waits < start_ms) answer.waited.push({ from: answer.waits, to: start_ms });
      answer.waits = null;
    }
    if (phase !== "prefill") return;
    const again = answer.preemptions.some((at) => at <= start_ms);
    answer.reads.push({ from: start_ms, to: start_ms + ms, rows, pass: number, again });
    for (const readers of this.#readers) readers.add(request);
  }

  /** A request that gets a token has waited for it since its last one. */
  #lookForStall(pass) {
    const to = endOf(pass);
    const waits = [];
    for (const member of pass.members) {
      const { request } = member;
      const chosen = chosenOf(member);
      if (!chosen.length) continue;
      const { outputs } = this.answers[request];
      const from = outputs.at(-1)?.ms ?? null;
      const readers = [...this.#readers[request]].filter((reader) => reader !== request);
      this.#readers[request].clear();
      for (const token of chosen) outputs.push({ token, ms: to, pass: pass.number });
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
