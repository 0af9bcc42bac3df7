/** A request that the engine refuses, with what an HTTP answer says of it (docs/api.md, Problems). */
export class Refused extends Error {
  /**
   * @param {number} status
   * @param {string} detail one sentence
   * @param {{field?: string, limit?: number|(number|string)[]}} [more]
   */
  constructor(status, detail, more = {}) {
    super(detail);
    this.problem = { title: detail, detail, status, ...more };
  }
}
