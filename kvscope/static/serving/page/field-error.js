/** Marks the field that a problem is about. */

/**
 * @param {string} field
 * @param {import("../workload-form.js").Problem|null} problem
 */
export function errorProps(field, problem) {
  return problem?.field === field ? { "aria-invalid": "true", "aria-describedby": "serving-wrong" } : {};
}
