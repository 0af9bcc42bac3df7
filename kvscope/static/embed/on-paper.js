/** Answers a lesson that prints its handout with pictures of the page. */

import { msg } from "../shared/words/msg.js";

/**
 * @param {Window} window whose `fetch` is counted from now on: a page is not complete while it waits for values
 * @param {(message: Object) => void} send to the lesson
 * @returns {(data: {of: *}) => Promise<void>} sends a picture: `of`, `url`, `width` and `height` as in paper.js, or `of` and `problem`;
 *   for null, ends the preparation of one
 */
export function createPaper(window, send) {
  const { fetch } = window;
  let pending = 0;
  window.fetch = async (...request) => {
    pending += 1;
    try {
      return await fetch(...request);
    } finally {
      pending -= 1;
    }
  };

  let aborter = new AbortController();
  return async ({ of }) => {
    aborter.abort();
    if (of === null) return;
    aborter = new AbortController();
    const { signal } = aborter;
    try {
      const { paperOf } = await import("./paper.js");
      const paper = await paperOf(window, () => pending > 0, signal);
      if (!signal.aborted) send({ type: "paper", of, ...paper });
    } catch (error) {
      if (signal.aborted) return;
      console.error(error);
      send({ type: "paper", of, problem: msg`The page could not be drawn. Print again.` });
    }
  };
}
