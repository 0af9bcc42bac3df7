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
  switch (calculation.op) {
    case "dot":
      return calculation.terms.reduce((sum, [left, right]) => sum + numberOf(left) * numberOf(right), 0);
    case "sum":
      return numberOf(calculation.terms[0]) + numberOf(calculation.terms[1]);
    case "rms": {
      const squares = calculation.terms.reduce((sum, each) => sum + numberOf(each) ** 2, 0);
      return Math.sqrt(squares / calculation.terms.length + calculation.eps);
    }
    case "ratio":
      return numberOf(calculation.of) / numberOf(calculation.by);
    case "swiglu": {
      const gate = numberOf(calculation.gate);
      return (gate / (1 + Math.exp(-gate))) * numberOf(calculation.up);
    }
    default:
      return null;
  }
}
