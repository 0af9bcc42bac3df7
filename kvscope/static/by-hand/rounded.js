/** What a sum gives with its numbers as they are written, rounded. Pure. */

import { cellText, DECIMALS } from "./numbers.js";
import { calculationOf, numberIn } from "./table.js";

/** @returns {string|null} null where it is the result that is shown, and where the cell is no sum */
export function otherResult(table, name) {
  const calculation = calculationOf(table, name);
  const rounded = (each) => Number(numberIn(table, each).toFixed(DECIMALS));
  const result = resultOf(calculation, rounded);
  return result === null || cellText(result) === cellText(numberIn(table, name)) ? null : cellText(result);
}

function resultOf(calculation, numberOf) {
  if (calculation.op === "dot") {
    return calculation.terms.reduce((sum, [left, right]) => sum + numberOf(left) * numberOf(right), 0);
  }
  if (calculation.op === "sum") return numberOf(calculation.terms[0]) + numberOf(calculation.terms[1]);
  return null;
}
