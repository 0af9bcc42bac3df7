/** The result of a sum computed with its rounded numbers, as the page writes them. Pure. */

import { cellText, DECIMALS } from "./numbers.js";
import { calculationOf, numberIn } from "./table.js";

/** @returns {string|null} null if it equals the shown result, or if the cell is not a sum */
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
