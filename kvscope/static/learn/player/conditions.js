/** Whether what the picture shows is what a task asks for. Pure. */

const BOUNDS = {
  equals: (value, wanted) => value === wanted || String(value) === String(wanted),
  above: (value, wanted) => value !== null && value > wanted,
  below: (value, wanted) => value !== null && value < wanted,
  at_least: (value, wanted) => value !== null && value >= wanted,
  at_most: (value, wanted) => value !== null && value <= wanted,
  one_of: (value, wanted) => wanted.some((each) => BOUNDS.equals(value, each)),
  differs_from: (value, wanted) => value !== undefined && value !== null && !BOUNDS.equals(value, wanted),
};

/**
 * @param {Object<string, Object<string, *>>} conditions by field, bounds by name, as the server gives them
 * @param {Object|null} shown values by field
 * @returns {boolean} whether all hold; a field that the page does not have holds nothing
 */
export function holds(conditions, shown) {
  if (!shown) return false;
  return Object.entries(conditions).every(([field, bounds]) =>
    Object.entries(bounds).every(([name, wanted]) => shown[field] !== undefined && BOUNDS[name](shown[field], wanted)),
  );
}
