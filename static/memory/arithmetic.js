/**
 * Results that open to their arithmetic: the number, the formula in words, and the terms with their numbers, which open in
 * turn. Value and formula are made of the same terms, so that they cannot part. Pure.
 *
 * @typedef {Object} Term
 * @property {string} name as the formula has it
 * @property {number} value
 * @property {Result} [of] how the value came about
 *
 * @typedef {Object} Result
 * @property {number} value
 * @property {string} unit
 * @property {"×"|"+"|"−"|"÷"|"min"|"max"|null} op what joins the terms; null: only the formula says it
 * @property {string} formula
 * @property {Term[]} terms
 * @property {boolean} [estimated] whether it is what a machine could do at best, not what one does
 * @property {string[]} [assumes] what must hold for it, in sentences
 */

/** @type {Object<string, (values: number[]) => number>} */
const FOLDS = {
  "×": (values) => values.reduce((product, value) => product * value, 1),
  "+": (values) => values.reduce((sum, value) => sum + value, 0),
  "−": ([first, ...others]) => others.reduce((rest, value) => rest - value, first),
  "÷": ([first, ...others]) => others.reduce((rest, value) => rest / value, first),
  min: (values) => Math.min(...values),
  max: (values) => Math.max(...values),
};

/** @returns {Term} a number with a name */
export function term(name, value) {
  return { name, value };
}

/** @returns {Term} a number that is written as itself */
export function constant(value) {
  return { name: String(value), value };
}

/** @returns {Term} a result as a term of another */
export function derived(name, result) {
  return { name, value: result.value, of: result };
}

/**
 * Terms joined by one operation.
 *
 * @param {"×"|"+"|"−"|"÷"|"min"|"max"} op
 * @param {string} unit
 * @param {Term[]} terms
 * @returns {Result}
 */
export function joined(op, unit, terms) {
  const names = terms.map(({ name }) => name);
  const formula = op === "min" || op === "max" ? `${op}(${names.join(", ")})` : names.join(` ${op} `);
  return { value: FOLDS[op](terms.map(({ value }) => value)), unit, op, formula, terms };
}

/** @returns {Result} one whose formula is more than an operation between its terms */
export function stated(value, unit, formula, terms) {
  return { value, unit, op: null, formula, terms };
}

/** @returns {Result} the same, as what a machine could do at best */
export function estimated(result, assumes) {
  return { ...result, estimated: true, assumes };
}
