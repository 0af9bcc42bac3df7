/** A round as lanes over time, in milliseconds. Pure. */

import { rowCount } from "../shared/words/counts.js";
import { endOf } from "./measures.js";

/** The end of the axis is one of these times a power of ten, so that the drawing seldom moves while a round grows. */
const ROUND_NUMBERS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const STEPS = [1, 2, 5];
/** The shortest axis. */
const SHORTEST_MS = 500;

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

/** @returns {number} the time up to which the round is known */
export function nowOf(round) {
  const last = round.passes.at(-1);
  return Math.max(round.end?.ms ?? 0, last ? endOf(last) : 0);
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

/** @returns {Lane[]} `next`, with the objects of `before` for lanes that have not changed, so that they are not drawn again */
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

/** @returns {number} the end of an axis that shows so many ms; the same for all rounds, so that they can be compared */
export function axisEnd(ms) {
  const wanted = Math.max(ms, SHORTEST_MS);
  const power = 10 ** Math.floor(Math.log10(wanted));
  return power * ROUND_NUMBERS.find((factor) => power * factor >= wanted);
}

/** @returns {number[]} ms to write on an axis, at most `most` of them after 0 */
export function axisTicks(end, most) {
  for (let power = 10; ; power *= 10) {
    for (const factor of STEPS) {
      const step = power * factor;
      if (end / step <= most) return Array.from({ length: Math.floor(end / step) + 1 }, (_, at) => at * step);
    }
  }
}

/** @returns {number|null} the pass that ran at `ms`, or the last that began before; null before the first */
export function passAt(passes, ms) {
  return passes.findLast(({ start_ms }) => start_ms <= ms)?.number ?? null;
}
