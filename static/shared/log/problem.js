/** A refusal, from the server or on the way to it. */

/** As the server's problem document (RFC 9457) tells it. */
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

/** @returns {Promise<Problem>} what an answer that is none says */
export async function problemOf(response) {
  const retryAfter = Number(response.headers.get("Retry-After")) || null;
  const body = await response.json().catch(() => null);
  return new Problem({ title: `The server answered ${response.status}`, ...body, status: response.status }, retryAfter);
}
