/** A letter and a hue for each request, the same everywhere on the page. Pure. */

import { listed } from "../shared/facts/format.js";

/** The number of hues in owners.css, as many as the eye distinguishes. They repeat, and then only the letter differs. */
const HUES = 12;

const LETTERS = 26;

/** @returns {string} A, B, … Z, A2, … */
export function letterOf(request) {
  const turn = Math.floor(request / LETTERS);
  return `${String.fromCharCode(65 + (request % LETTERS))}${turn ? turn + 1 : ""}`;
}

/** @returns {string} the class that carries a request's hue */
export function ownerClass(request) {
  return `owner-${request % HUES}`;
}

/** @returns {string} "A", "A and B", "A, B and C" */
export function lettersOf(requests) {
  return listed(requests.map(letterOf));
}
