/** Files of requests, one per line, as JSON. Pure. */

import { integer } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";

/**
 * What an experiment reads of a file that the reader chooses, in place of its own requests.
 *
 * @typedef {Object} FileKind
 * @property {string} choose
 * @property {string} back to the experiment’s own requests
 * @property {string} format what a line must be
 * @property {(text: string, limits: import("../shared/log/limits.js").Limits) => Object|{problem: string}} read
 * @property {(read: Object, name: string) => string} says what of the file is sent
 */

/**
 * @template Request
 * @param {string} text of the file
 * @param {number} most requests
 * @param {(data: Object) => Request|{problem: string}} requestOf reads the object of a line
 * @returns {Request[]|{problem: string}} the problem of the first line that has one
 */
export function requestsIn(text, most, requestOf) {
  const lines = text.split("\n").map((line, at) => ({ line: line.trim(), number: at + 1 }));
  const filled = lines.filter(({ line }) => line);
  if (!filled.length) return { problem: msg`The file is empty. Each line must be a request, as JSON.` };
  if (filled.length > most) {
    const [has, allowed] = [filled.length, most].map(integer);
    return { problem: msg`The file has ${has} requests; at most ${allowed} are sent.` };
  }
  const requests = [];
  for (const { line, number } of filled) {
    const data = objectOf(line);
    const request = isProblem(data) ? data : requestOf(data.object);
    if (isProblem(request)) return { problem: msg`Line ${integer(number)}: ${request.problem}` };
    requests.push(request);
  }
  return requests;
}

/** @param {Object} value @returns {value is {problem: string}} */
export function isProblem(value) {
  return "problem" in value;
}

/** @returns {{object: Object}|{problem: string}} */
function objectOf(line) {
  let data;
  try {
    data = JSON.parse(line);
  } catch {
    return { problem: msg`it is not JSON.` };
  }
  if (data === null || typeof data !== "object" || Array.isArray(data)) return { problem: msg`it is not an object.` };
  return { object: data };
}
