/**
 * Whether the page shows what a task asks for. Pure. app/learn/conditions.py checks lessons with the same meaning of a bound;
 * tests/fixtures/conditions.json has the cases that both must decide alike.
 */

const NUMBER = /^-?[0-9]+(\.[0-9]+)?$/;
const DIGITS = 12;

const BOUNDS = {
  equals: same,
  above: ordered((value, bound) => value > bound),
  below: ordered((value, bound) => value < bound),
  at_least: ordered((value, bound) => value >= bound),
  at_most: ordered((value, bound) => value <= bound),
  one_of: (value, bound) => bound.some((each) => same(value, each)),
  differs_from: (value, bound) => value !== null && !same(value, bound),
};

/** @returns {number|null} the value, or the number that a text spells, to 12 digits; null for anything else */
function number(value) {
  const plain = typeof value === "string" && NUMBER.test(value) ? Number(value) : value;
  return typeof plain === "number" ? Number(plain.toPrecision(DIGITS)) : null;
}

/** A number equals a text that spells it. */
function same(value, other) {
  if (typeof value !== "number" && typeof other !== "number") return String(value) === String(other);
  return number(value) !== null && number(value) === number(other);
}

/** Only numbers have an order. */
function ordered(compare) {
  return (value, bound) => number(value) !== null && number(bound) !== null && compare(number(value), number(bound));
}

/**
 * @param {Object<string, Object<string, *>>} conditions by field, bounds by name
 * @param {Object|null} shown values by field
 * @returns {boolean} whether all hold; a field that the page does not have holds nothing
 */
export function holds(conditions, shown) {
  if (!shown) return false;
  return Object.entries(conditions).every(([field, bounds]) =>
    Object.entries(bounds).every(([name, bound]) => shown[field] !== undefined && BOUNDS[name](shown[field], bound)),
  );
}
