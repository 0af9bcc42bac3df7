/** Whether other work disturbed a measured time (docs/frames.md, `conditions`). Pure. */

import { form, msg, plural } from "../words/msg.js";
import { integer, milliseconds, percent } from "./format.js";

/**
 * @param {{conditions: Object|null, batch?: number}} data of a step, a pass or a measurement; `conditions` is null if they were not recorded
 * @returns {string|null} what disturbed it; null if no disturbance is known
 */
export function disturbance({ conditions, batch = 1 }) {
  const others = conditions?.others ?? batch - 1;
  if (others) {
    const count = integer(others);
    return plural(
      others,
      form`${count} other run shared the same passes`,
      form`${count} other runs shared the same passes`,
    );
  }
  if (!conditions?.disturbed) return null;
  const { waiting } = conditions;
  if (waiting === null) return msg`the machine was busy with other work`;
  // The waits of several threads overlap, and their sum is recorded up to the whole time.
  const share = waiting < 1 ? percent(waiting, 0) : msg`at least ${percent(waiting, 0)}`;
  return msg`the machine was busy with other work: threads of the engine waited for a processor, in sum ${share} of the time`;
}

/** @returns {Object[]} the steps without a known disturbance */
export function undisturbed(steps) {
  return steps.filter(({ data }) => disturbance(data) === null);
}

/** @returns {string} a measured time, marked if it was disturbed: "12 ms (disturbed)" */
export function timed(ms, data) {
  return marked(ms, disturbance(data) !== null);
}

/** @returns {string} a time of several steps, marked if `disturbed` */
export function marked(ms, disturbed) {
  const time = milliseconds(ms);
  return disturbed ? msg`${time} (disturbed)` : time;
}

/** The total time of several passes is disturbed if disturbed passes take more than this share of it. */
const MOST_DISTURBED = 0.1;

/**
 * @param {{ms: number, conditions: Object|null}[]} passes one after another
 * @returns {string|null} what disturbed their total time, in the words of `disturbance`
 */
export function disturbanceOfAll(passes) {
  const sum = (some) => some.reduce((ms, pass) => ms + pass.ms, 0);
  const disturbed = passes.filter((pass) => disturbance(pass) !== null);
  if (!disturbed.length || sum(disturbed) <= MOST_DISTURBED * sum(passes)) return null;
  const [count, total, cause] = [integer(disturbed.length), integer(passes.length), disturbance(disturbed[0])];
  return plural(
    disturbed.length,
    form`${count} pass of ${total} (the first: ${cause})`,
    form`${count} passes of ${total} (the first: ${cause})`,
  );
}

/** @returns {"measured"|"disturbed"} the origin of these steps' times, for a badge */
export function originOf(steps) {
  return originOfTimes(steps.map(({ data }) => data));
}

/** @param {Object[]} measured arguments of `disturbance`, such as passes of Serving  @returns {"measured"|"disturbed"} */
export function originOfTimes(measured) {
  return measured.every((each) => disturbance(each) === null) ? "measured" : "disturbed";
}
