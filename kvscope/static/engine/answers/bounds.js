/** Checks the parameters of questions. The sentences are the server's (kvscope/app/bodies.py, kvscope/model/service/limits.py). Pure. */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";

/** The most positions of a step that is computed again in many ways (kvscope/model/api.py, MAX_COMPARED). */
const MOST_COMPARED = 256;

/** @throws {Refused} unless `value` is an integer from `low` to `high` */
export function within(field, value, low, high) {
  if (value === undefined) throw new Refused(422, msg`${field} is missing.`, { field });
  if (Number.isInteger(value) && low <= value && value <= high) return;
  const limit = [low, high];
  throw new Refused(422, msg`${field} is ${shown(value)}; it must be from ${shown(low)} to ${shown(high)}.`, {
    field,
    limit,
  });
}

/** @throws {Refused} unless `value` is an index of something that there are `count` of */
export const among = (field, value, count) => within(field, value, 0, count - 1);

/** @throws {Refused} unless `value` is one of `choices` */
export function oneOf(field, value, choices) {
  if (choices.includes(value)) return;
  const all = choices.join(", ");
  throw new Refused(422, msg`${field} is ${shown(value)}; it must be one of ${all}.`, { field, limit: choices });
}

/** @throws {Refused} unless `text` has from 1 to `most` characters */
export function someText(field, text, most) {
  if (!text)
    throw new Refused(422, msg`${field} is empty; it must have at least one character.`, { field, limit: [1, most] });
  if (text.length <= most) return;
  const count = shown(text.length);
  throw new Refused(413, msg`${field} has ${count} characters; it must have at most ${shown(most)}.`, {
    field,
    limit: [1, most],
  });
}

/** @returns {boolean} whether there are few enough tokens to compute all of them again, more than once */
export const isFew = (ids) => ids.length <= MOST_COMPARED;

/** @throws {Refused} if there are too many tokens for questions that compute all of them again, more than once */
export function fewEnough(ids) {
  if (isFew(ids)) return;
  const detail = msg`The run has ${shown(ids.length)} positions; at most ${MOST_COMPARED} can be computed again, since other runs wait.`;
  throw new Refused(422, detail, { field: "run", limit: MOST_COMPARED });
}

const shown = (value) => (typeof value === "number" ? value.toLocaleString("en") : JSON.stringify(value));
