/** A round as lanes over time: pieces in milliseconds, and where they stand. Pure. */

import { endOf, eventsOf } from "./measures.js";

/** The end of the axis is one of these, times a power of ten: while a round grows, what is drawn seldom moves. */
const ROUND_NUMBERS = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
const STEPS = [1, 2, 5];
/** What no log has yet is drawn over this long. */
const SHORTEST_MS = 500;

/**
 * @typedef {{from: number, to: number}} Span in ms
 *
 * @typedef {Object} Lane
 * @property {number} request
 * @property {Span[]} waits from asking, or from being set back, until it is taken into a pass
 * @property {(Span & {rows: number, pass: number, again: boolean})[]} reads passes that read of its prompt; `again`: once more, after
 *   it was set back
 * @property {number[]} words when each was out
 * @property {number[]} setBack when it was
 * @property {{what: "done"|"cancelled"|"refused", ms: number}|null} end
 */

/** @returns {number} up to when the round is known */
export function nowOf(round) {
  const last = round.passes.at(-1);
  return Math.max(round.end?.ms ?? 0, last ? endOf(last) : 0);
}

/**
 * @param {import("../log/workload.js").Round} round
 * @param {import("./measures.js").Answer[]} answers
 * @returns {Lane[]} one per request
 */
export function lanesOf(round, answers) {
  const now = nowOf(round);
  const setBack = answers.map(() => []);
  for (const { what, ms, request } of eventsOf(round)) if (what === "preempted") setBack[request].push(ms);
  const passes = answers.map(() => []);
  for (const pass of round.passes) for (const member of pass.members) passes[member.request].push({ pass, member });
  return answers.map(({ request, arrived, words, end }) => ({
    request,
    waits: waitsOf([arrived, ...setBack[request]], passes[request], end, now),
    reads: passes[request]
      .filter(({ member }) => member.phase === "prefill")
      .map(({ pass, member: { rows } }) => ({
        ...{ from: pass.start_ms, to: endOf(pass), rows, pass: pass.number },
        again: setBack[request].some((ms) => ms <= pass.start_ms),
      })),
    words: words.map(({ ms }) => ms),
    setBack: setBack[request],
    end,
  }));
}

function waitsOf(starts, passes, end, now) {
  return starts
    .filter((from) => from <= now)
    .map((from) => {
      const taken = passes.find(({ pass }) => pass.start_ms >= from)?.pass.start_ms;
      return { from, to: taken ?? end?.ms ?? now };
    })
    .filter(({ from, to }) => to > from);
}

/** @returns {{prefill: number, decode: number, guessed: number, others: number}} rows of a pass */
export function barOf({ members, others }) {
  const of = (wanted) => members.reduce((sum, { phase, rows }) => sum + (phase === wanted ? rows : 0), 0);
  const guessed = members.reduce((sum, member) => sum + (member.guessed ?? 0), 0);
  return { prefill: of("prefill"), decode: of("decode") - guessed, guessed, others: others.rows };
}

/** @returns {string} "1+1+16 = 18 rows": what each brought to a pass */
export function rowsWords({ members, others }) {
  const parts = [...members.map(({ rows }) => rows), ...(others.rows ? [others.rows] : [])];
  const sum = parts.reduce((total, rows) => total + rows, 0);
  const said = `${sum} ${sum === 1 ? "row" : "rows"}`;
  return parts.length > 1 && parts.length <= 9 ? `${parts.join("+")} = ${said}` : said;
}

/** @returns {number} where the axis ends that shows so many ms: the same for all rounds, so that they can be compared */
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

/** @returns {number|null} the pass of these that went on at `ms`, or the last that began before; null before the first */
export function passAt(passes, ms) {
  return passes.findLast(({ start_ms }) => start_ms <= ms)?.number ?? null;
}
