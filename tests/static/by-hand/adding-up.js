/** Reads answers of /api/by-hand on standard input; for each, how far the arithmetic of its cells is from their numbers. */

import { readFileSync } from "node:fs";
import { cellsOf, numberIn, tableOf, workingOf } from "../../../static/by-hand/table.js";

const LEAST = 1e-30;

const answers = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(answers.map((answer) => offOf(tableOf(answer)))));

/** @returns {{cells: number, most: number}} `most`: the largest difference, in shares of the sum of the absolute terms */
function offOf(table) {
  const worked = cellsOf(table).filter((name) => workingOf(table, name).op !== "given");
  return { cells: worked.length, most: Math.max(...worked.map((name) => off(table, name))) };
}

function off(table, name) {
  const is = numberIn(table, name);
  const terms = termsOf(table, workingOf(table, name));
  const gives = terms.reduce((sum, term) => sum + term, 0);
  if (is === gives) return 0;
  // What is smaller than any share in 32 bits is 0 there.
  return (
    Math.abs(is - gives) /
    Math.max(
      LEAST,
      terms.reduce((sum, term) => sum + Math.abs(term), 0),
    )
  );
}

/** @returns {number[]} what adds up to the number of a cell */
function termsOf(table, working) {
  const at = (name) => numberIn(table, name);
  switch (working.op) {
    case "sum":
      return working.terms.map(at);
    case "dot":
      return working.terms.map(([left, right]) => at(left) * at(right));
    case "divide":
      return [at(working.of) / working.by];
    case "mask":
      return [working.hidden ? Number.NEGATIVE_INFINITY : at(working.of)];
    case "softmax": {
      const largest = Math.max(...working.row.map(at));
      const power = (name) => Math.exp(at(name) - largest);
      return [power(working.of) / working.row.reduce((sum, each) => sum + power(each), 0)];
    }
    default:
      return [at(working.of)];
  }
}
