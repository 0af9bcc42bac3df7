/** Holds a result of the calculator against the arithmetic that it opens to. */

import assert from "node:assert/strict";

const OPERATIONS = {
  "×": (a, b) => a * b,
  "+": (a, b) => a + b,
  "−": (a, b) => a - b,
  "÷": (a, b) => a / b,
  min: (a, b) => Math.min(a, b),
  max: (a, b) => Math.max(a, b),
};

/** Every number follows from those it opens to, down to numbers that were given, and every formula names its terms. */
export function assertOpens(result) {
  const { value, op, formula, terms } = result;
  assert.ok(terms.length > 0, formula);
  for (const { name, value: given, of } of terms) {
    assert.equal(typeof given, "number", `${name} of ${formula}`);
    assert.ok(formula.includes(name), `${name} is not in ${formula}`);
    if (!of) continue;
    assert.equal(given, of.value, name);
    assertOpens(of);
  }
  if (op !== null) assert.equal(terms.map((term) => term.value).reduce(OPERATIONS[op]), value, formula);
}
