/** Whether a measured time says something of other work too (docs/frames.md, `conditions`). Pure. */

import { counted, milliseconds, percent } from "./format.js";

/**
 * @param {{conditions?: Object, batch?: number}} data of a step, a pass or a measurement
 * @returns {string|null} what disturbed it; null where nothing is known to have. Older logs know of other runs alone
 */
export function disturbance({ conditions, batch = 1 }) {
  const others = conditions?.others ?? batch - 1;
  if (others) return `${counted(others, "other run")} shared its passes`;
  if (!conditions?.disturbed) return null;
  const { waiting } = conditions;
  const share = waiting === null ? "" : `: the engine waited ${percent(waiting, 0)} of the time for a processor`;
  return `the machine was busy with other work${share}`;
}

/** @returns {Object[]} the steps that nothing is known to have disturbed */
export function undisturbed(steps) {
  return steps.filter(({ data }) => disturbance(data) === null);
}

/** @returns {string} a measured time, marked where something disturbed it: "12.3 ms (disturbed)" */
export function timed(ms, data) {
  return marked(ms, disturbance(data) !== null);
}

/** @returns {string} a time of several steps, marked where `disturbed` */
export function marked(ms, disturbed) {
  return `${milliseconds(ms)}${disturbed ? " (disturbed)" : ""}`;
}

/** Disturbed passes may be this share of the time of several before the time of all is called disturbed. */
const MOST_DISTURBED = 0.1;

/**
 * @param {{ms: number, conditions?: Object}[]} passes one after another, whose time counts together
 * @returns {string|null} what disturbed it, as `disturbance` says it of one
 */
export function disturbanceOfAll(passes) {
  const sum = (some) => some.reduce((ms, pass) => ms + pass.ms, 0);
  const disturbed = passes.filter((pass) => disturbance(pass) !== null);
  if (!disturbed.length || sum(disturbed) <= MOST_DISTURBED * sum(passes)) return null;
  return `${counted(disturbed.length, "pass", "passes")} of ${passes.length} (the first: ${disturbance(disturbed[0])})`;
}

/** @returns {"measured"|"disturbed"} where the times of these steps come from, as a badge says it */
export function originOf(steps) {
  return originOfTimes(steps.map(({ data }) => data));
}

/** @param {Object[]} measured what `disturbance` takes, such as passes of Serving  @returns {"measured"|"disturbed"} */
export function originOfTimes(measured) {
  return measured.every((each) => disturbance(each) === null) ? "measured" : "disturbed";
}
