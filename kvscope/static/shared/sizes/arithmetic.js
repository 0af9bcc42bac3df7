/**
 * Results with their derivation: the value, the formula in words, and the terms with their values, which can have a derivation
 * too. Value and formula come from the same terms, so they always agree. Pure.
 *
 * @typedef {Object} Term
 * @property {string} name as in the formula
 * @property {number} value
 * @property {Result} [of] the derivation of the value
 *
 * @typedef {Object} Result
 * @property {number} value
 * @property {string} unit
 * @property {"×"|"+"|"−"|"÷"|"min"|"max"|null} op the operation between the terms; null: see the formula
 * @property {string} formula
 * @property {Term[]} terms
 * @property {boolean} [estimated] whether it is the best that a machine could do, not a measurement
 * @property {string[]} [assumes] the assumptions, in sentences
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

/** @returns {Term} a number that is its own name */
export function constant(value) {
  return { name: String(value), value };
}

/** @returns {Term} a result as a term of another one */
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

/** @returns {Result} a result whose formula is more than one operation between its terms */
export function stated(value, unit, formula, terms) {
  return { value, unit, op: null, formula, terms };
}

/** @returns {Result} the same, marked as an estimate of the best possible value */
export function estimated(result, assumes) {
  return { ...result, estimated: true, assumes };
}
