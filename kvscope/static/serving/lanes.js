/** A round as lanes over time, in milliseconds. Pure. */

import { scaleLinear } from "d3-scale";
import { rowCount } from "../shared/words/counts.js";
import { endOf } from "./measures.js";

/** The shortest axis. */
const SHORTEST_MS = 500;
/** The axis ends where one of about so many equal, round parts does, so that the drawing seldom moves while a round grows. */
const AXIS_PARTS = 5;

/**
 * @typedef {import("./measures.js").Span} Span
 *
 * @typedef {Object} Lane
 * @property {number} request
 * @property {Span[]} waits from its arrival, or from a preemption, until it joins a pass
 * @property {import("./measures.js").Answer["reads"]} reads
 * @property {number[]} outputs the time of each
 * @property {number[]} preemptions the time of each
 * @property {{what: "done"|"cancelled"|"refused", ms: number}|null} end
 */

/** @returns {number} the time in ms up to which the log has the round */
export function nowOf(round) {
  return round.passes.reduce((last, pass) => Math.max(last, endOf(pass)), round.end?.ms ?? 0);
}

/**
 * @param {import("./workload-log.js").Round} round
 * @param {import("./measures.js").Answer[]} answers
 * @returns {Lane[]} one per request
 */
export function lanesOf(round, answers) {
  const now = nowOf(round);
  return answers.map(({ request, waits: since, waited, reads, outputs, preemptions, end }) => {
    const to = end?.ms ?? now;
    const still = since !== null && since < to ? [{ from: since, to }] : [];
    return {
      ...{ request, waits: [...waited, ...still], reads: [...reads] },
      ...{ outputs: outputs.map(({ ms }) => ms), preemptions: [...preemptions], end },
    };
  });
}

/** @returns {Lane[]} `next`, with the objects of `before` for unchanged lanes, so that these are not drawn again */
export function steadyLanes(before, next) {
  return next.map((lane, at) => (before[at] && isSame(before[at], lane) ? before[at] : lane));
}

function isSame(one, other) {
  return (
    one.end?.what === other.end?.what &&
    one.outputs.length === other.outputs.length &&
    one.outputs[0] === other.outputs[0] &&
    one.reads.length === other.reads.length &&
    one.preemptions.length === other.preemptions.length &&
    one.waits.length === other.waits.length &&
    one.waits.every(({ from, to }, at) => from === other.waits[at].from && to === other.waits[at].to)
  );
}

/** @returns {{prefill: number, decode: number, guessed: number, others: number}} rows of a pass */
export function barOf({ members, others }) {
  const of = (wanted) => members.reduce((sum, { phase, rows }) => sum + (phase === wanted ? rows : 0), 0);
  const guessed = members.reduce((sum, member) => sum + member.guessed, 0);
  return { prefill: of("prefill"), decode: of("decode") - guessed, guessed, others: others.rows };
}

/** @returns {string} "1+1+16 = 18 rows": the rows of each request in a pass, and their sum */
export function rowsLabel({ members, others }) {
  const parts = [...members.map(({ rows }) => rows), ...(others.rows ? [others.rows] : [])];
  const sum = rowCount(parts.reduce((total, rows) => total + rows, 0));
  return parts.length > 1 && parts.length <= 9 ? `${parts.join("+")} = ${sum}` : sum;
}

/**
 * @param {number} ms to be shown; all rounds share one scale, so that they can be compared
 * @param {[number, number]} range in pixels
 * @returns {import("d3-scale").ScaleLinear<number, number>}
 */
export function timeScale(ms, range) {
  return scaleLinear([0, Math.max(ms, SHORTEST_MS)], range).nice(AXIS_PARTS);
}

/** @returns {number|null} the pass that ran at `ms`, or the last that began before; null before the first */
export function passAt(passes, ms) {
  return passes.findLast(({ start_ms }) => start_ms <= ms)?.number ?? null;
}
