/** Two numbers that the reader is to find: which, and whether an answer is right. Pure. */

import { typedNumber } from "./numbers.js";
import { cellName, cellsOf, kindOf, numberIn, workingOf } from "./table.js";

const AT_ONCE = 2;
/** Either way; a hair more, for what is typed is decimal. */
const TOLERANCE = 0.001 + 1e-9;
/** Coprime with any count of cells that there is here: each round has others. */
const STRIDE = 31;
const ASKED = ["dot", "softmax", "divide"];

/**
 * @param {number} round 0 asks for a weight of the last row, and for the first number of what comes out
 * @returns {string[]} cells that this moment computes
 */
export function hiddenIn(table, moment, round) {
  const row = moment === "prefill" ? table.prompt - 1 : table.prompt;
  const first = [cellName("weights1", row, Math.min(row, table.prompt - 1)), cellName("mixed1", row, 0)];
  const others = cellsOf(table).filter(
    (name) =>
      kindOf(table, name, moment) === "computed" && !first.includes(name) && ASKED.includes(workingOf(table, name).op),
  );
  const all = [...first, ...others.map((_, at) => others[(at * STRIDE) % others.length])];
  const start = (round * AT_ONCE) % (all.length - AT_ONCE + 1);
  return all.slice(start, start + AT_ONCE);
}

/** @returns {boolean|null} null for what is no number */
export function isRight(table, name, text) {
  const typed = typedNumber(text);
  return typed === null ? null : Math.abs(typed - numberIn(table, name)) <= TOLERANCE;
}
