/** The two numbers that the reader predicts, and whether an answer is right. Pure. */

import { cellName } from "./blocks.js";
import { typedNumber } from "./numbers.js";
import { calculationOf, cellsOf, kindOf, numberIn } from "./table.js";

const AT_ONCE = 2;
/** Absolute; the 1e-9 allows for the binary rounding of a typed decimal. */
const TOLERANCE = 0.001 + 1e-9;
/** Coprime with the number of cells in both examples, so that each round has other cells. */
const STRIDE = 31;
const PREDICTABLE = ["dot", "softmax", "divide"];

/**
 * @param {number} round round 0 hides a weight of the last row and the first number of its output
 * @returns {string[]} cells that this phase computes
 */
export function hiddenIn(table, phase, round) {
  const row = phase === "prefill" ? table.prompt - 1 : table.prompt;
  const first = [cellName("weights1", row, Math.min(row, table.prompt - 1)), cellName("mixed1", row, 0)];
  const others = cellsOf(table).filter(
    (name) =>
      kindOf(table, name, phase) === "computed" &&
      !first.includes(name) &&
      PREDICTABLE.includes(calculationOf(table, name).op),
  );
  const all = [...first, ...others.map((_, at) => others[(at * STRIDE) % others.length])];
  const start = (round * AT_ONCE) % (all.length - AT_ONCE + 1);
  return all.slice(start, start + AT_ONCE);
}

/** @returns {boolean|null} null for text that is not a number */
export function isRight(table, name, text) {
  const typed = typedNumber(text);
  return typed === null ? null : Math.abs(typed - numberIn(table, name)) <= TOLERANCE;
}
