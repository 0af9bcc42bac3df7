/** A request that failed, at the server or on the way to it. */

import { msg } from "../words/msg.js";

/** The status for a page that may not ask the engine: an answer that is not stored already. */
export const NOT_STORED = 204;

/** Has the fields of the server's problem document (RFC 9457). */
export class Problem extends Error {
  constructor({ title, detail = "", status = 0, field = null, limit = null }, retryAfter = null) {
    super(detail || title);
    this.name = "Problem";
    this.title = title;
    this.detail = detail;
    this.status = status;
    this.field = field;
    this.limit = limit;
    this.retryAfter = retryAfter;
  }
}

/** @returns {Promise<Problem>} the problem of a failed response */
export async function problemOf(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  const body = await response.json().catch(() => null);
  return new Problem(
    { title: msg`The server answered with status ${response.status}`, ...body, status: response.status },
    retryAfter,
  );
}

/**
 * @param {() => Promise<Response>} ask sends a request
 * @returns {Promise<Response>} its answer. @throws {Problem} if the server cannot be reached or refuses
 */
export async function answered(ask) {
  let response;
  try {
    response = await ask();
  } catch {
    throw new Problem({
      title: msg`The server cannot be reached`,
      detail: msg`Check that it is still running, then try again.`,
    });
  }
  if (!response.ok) throw await problemOf(response);
  return response;
}
