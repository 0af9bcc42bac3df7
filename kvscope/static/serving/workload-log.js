/** A workload, built from the frames of its log in order (docs/frames.md, Serving). */

import { Log } from "../shared/log/log.js";

/**
 * @typedef {Object} Settings of one round
 * @property {"continuous"|"static"} batching
 * @property {number} at_once
 * @property {number} chunk
 * @property {boolean} sharing
 * @property {boolean} reserve
 * @property {number} blocks
 * @property {{tokens: number, layers: number}|null} draft what guesses tokens
 * @property {Object|null} keep how many rows of each sequence stay in the cache
 * @property {{new_tokens: number}|null} contiguous each request reserves one stretch, with space for so many tokens of an answer
 * @property {number|null} budget most rows of all requests in a pass
 * @property {"tokens"|"blocks"} prefix what requests with the same beginning share
 * @property {number} [speed] arrival times are divided by it; 1 where it is absent
 * @property {{count: number, route: string, prefill: number}|null} [engines] its own engines
 * @property {"none"|"memory"|"file"} [tier] where evicted blocks go
 *
 * @typedef {Object} Round
 * @property {number} number
 * @property {Settings} settings
 * @property {Object[]} passes `data` of its `pass` frames
 * @property {{ms: number, others: number, events: Object[]}|null} end `data` of its `round` frame
 */

/** Settings that older logs lack, with the values that were in force. */
const ABSENT = {
  budget: null,
  prefix: /** @type {const} */ ("tokens"),
  speed: 1,
  engines: null,
  tier: /** @type {const} */ ("none"),
};

export class Workload extends Log {
  /** @param {string} id */
  constructor(id) {
    super(id);
    /** All passes, `data` of each frame, by their number. */
    this.passes = [];
    /** @type {number[]} ms at which the page got each pass, by number; filled by pages that watch a live log */
    this.received = [];
    /** @type {Round[]} one per requested round, started or not */
    this.rounds = [];
    /** @type {{system: string, requests: Object[], rounds: Settings[]}|null} the requests, including those that joined later */
    this.study = null;
    /** The number of requests from the start. */
    this.begunWith = 0;
    /** Whether the log is not of a workload; then only its `open` frame is used. */
    this.foreign = false;
  }

  /** @returns {Round|null} the one that a pass belongs to */
  roundOf(pass) {
    return this.rounds[this.passes[pass]?.round] ?? null;
  }

  fold({ kind, data }) {
    if (kind === "open") this.#begin(data);
    else if (this.foreign) return;
    else if (kind === "asked") this.#joined(data);
    else if (kind === "pass") this.#served(data);
    else if (kind === "round") this.rounds[data.round].end = data;
    else if (kind === "close") this.close = data;
    else throw new RangeError(`frame of kind ${kind} in a workload`);
  }

  #begin(data) {
    this.open = data;
    this.foreign = data.study?.kind !== "serving";
    if (this.foreign) return;
    this.study = { ...data.study, rounds: data.study.rounds.map((settings) => ({ ...ABSENT, ...settings })) };
    this.begunWith = data.study.requests.length;
    this.rounds = this.study.rounds.map((settings, number) => ({ number, settings, passes: [], end: null }));
  }

  #joined({ number, request }) {
    const { requests } = this.study;
    if (number !== requests.length) throw new RangeError(`request ${number}, expected ${requests.length}`);
    this.study = { ...this.study, requests: [...requests, request] };
  }

  #served(data) {
    if (data.number !== this.passes.length) throw new RangeError(`pass ${data.number}, expected ${this.passes.length}`);
    this.passes.push(data);
    this.rounds[data.round].passes.push(data);
  }
}
