/** Reads JSON of this server. */

import { fetchUnder } from "../../shared/log/root.js";

/** @returns {Promise<any>} @throws {Error} whose message is what the server says */
export async function requestJson(path, options = {}) {
  const response = await fetchUnder(path, options);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.detail ?? answer.title);
  return answer;
}
