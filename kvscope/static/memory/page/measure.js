/** Asks the engine to measure this machine. */

import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder } from "../../shared/log/root.js";

/**
 * @param {Object<string, string>} identity headers with the identity of this browser
 * @returns {Promise<Object>} docs/frames.md, Measured; rejects with the server's problem
 */
export async function measure(identity) {
  const headers = { "Content-Type": "application/json", ...identity };
  const response = await fetchUnder("/api/measure", { method: "POST", headers, body: "{}" });
  if (!response.ok) throw await problemOf(response);
  return response.json();
}
