/** What comes right before a number and right after it. Pure. */

import { operandsOf, usesOf, workingOf } from "./table.js";

const BY_THE_WAY = ["copy", "mask"];

/** What comes before a cell and after it: at most two sums before, one after. */
export function neighboursOf(table, name) {
  const before = [];
  for (let at = stepBack(table, name); at && before.length < 2; at = stepBack(table, at)) {
    if (!BY_THE_WAY.includes(workingOf(table, at).op)) before.unshift(at);
  }
  let after = usesOf(table, name)[0];
  let through = name;
  while (after && BY_THE_WAY.includes(workingOf(table, after).op)) [after, through] = [usesOf(table, after)[0], after];
  return { before, after: after ?? null, through };
}

/** The number a cell is worked out of that is itself worked out: its own score of a share, else the first; null where all are given. */
function stepBack(table, name) {
  const working = workingOf(table, name);
  const operands = working.op === "softmax" ? [working.of] : operandsOf(working);
  return operands.find((each) => workingOf(table, each).op !== "given") ?? null;
}
