/** The calculations before and after a number. Pure. */

import { calculationOf, operandsOf, usesOf } from "./table.js";

const SKIPPED = ["copy", "mask"];

/** At most two calculations that lead to a cell, and one that uses it. */
export function neighboursOf(table, name) {
  const before = [];
  for (let at = stepBack(table, name); at && before.length < 2; at = stepBack(table, at)) {
    if (!SKIPPED.includes(calculationOf(table, at).op)) before.unshift(at);
  }
  let after = usesOf(table, name)[0];
  let through = name;
  while (after && SKIPPED.includes(calculationOf(table, after).op)) [after, through] = [usesOf(table, after)[0], after];
  return { before, after: after ?? null, through };
}

/** The computed operand of a cell: of a softmax its own score, else the first; null if all operands are inputs. */
function stepBack(table, name) {
  const calculation = calculationOf(table, name);
  const operands = calculation.op === "softmax" ? [calculation.of] : operandsOf(calculation);
  return operands.find((each) => calculationOf(table, each).op !== "given") ?? null;
}
