/** Reads answers of /api/by-hand on standard input; for each, how far the arithmetic of its cells is from their numbers. */

import { readFileSync } from "node:fs";
import { operationOf } from "../../../kvscope/static/by-hand/names.js";
import { calculationOf, cellsOf, numberIn, tableOf } from "../../../kvscope/static/by-hand/table.js";

const LEAST = 1e-30;

const answers = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify(answers.map((answer) => offOf(tableOf(answer)))));

/**
 * @returns {{cells: number, most: number, unnamed: string[]}} `most`: the largest difference, in shares of the sum of the absolute terms;
 *   `unnamed`: blocks without a line of the code
 */
function offOf(table) {
  const worked = cellsOf(table).filter((name) => calculationOf(table, name).op !== "given");
  const unnamed = Object.keys(table.blocks).filter((name) => !operationOf(name, table.whole));
  return { cells: worked.length, most: Math.max(...worked.map((name) => off(table, name))), unnamed };
}

function off(table, name) {
  const is = numberIn(table, name);
  const terms = termsOf(table, calculationOf(table, name));
  const gives = terms.reduce((sum, term) => sum + term, 0);
  if (is === gives) return 0;
  // A weight below the smallest 32-bit number is 0 in the engine.
  return (
    Math.abs(is - gives) /
    Math.max(
      LEAST,
      terms.reduce((sum, term) => sum + Math.abs(term), 0),
    )
  );
}

/** @returns {number[]} what adds up to the number of a cell */
function termsOf(table, calculation) {
  const at = (name) => numberIn(table, name);
  switch (calculation.op) {
    case "sum":
      return calculation.terms.map(at);
    case "dot":
      return calculation.terms.map(([left, right]) => at(left) * at(right));
    case "divide":
      return [at(calculation.of) / calculation.by];
    case "ratio":
      return [at(calculation.of) / at(calculation.by)];
    case "rms":
      return [
        Math.hypot(
          ...calculation.terms.map((each) => at(each) / Math.sqrt(calculation.terms.length)),
          Math.sqrt(calculation.eps),
        ),
      ];
    case "swiglu":
      return [(at(calculation.gate) / (1 + Math.exp(-at(calculation.gate)))) * at(calculation.up)];
    case "mask":
      return [calculation.hidden ? Number.NEGATIVE_INFINITY : at(calculation.of)];
    case "softmax": {
      const largest = Math.max(...calculation.row.map(at));
      const power = (name) => Math.exp(at(name) - largest);
      return [power(calculation.of) / calculation.row.reduce((sum, each) => sum + power(each), 0)];
    }
    default:
      return [at(calculation.of)];
  }
}
