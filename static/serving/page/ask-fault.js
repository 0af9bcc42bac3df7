/** Marks the field that a problem is about. */

/**
 * @param {string} field
 * @param {import("../asked.js").Problem|null} problem
 */
export function fault(field, problem) {
  return problem?.field === field ? { "aria-invalid": "true", "aria-describedby": "serving-wrong" } : {};
}
