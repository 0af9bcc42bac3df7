/** Loads the embeddings of words and their comparison, from the server's model. */

import { useEffect, useState } from "preact/hooks";

/** Delay after the last key before a request, in ms. */
const SETTLE_MS = 350;
/** Delay before a retry when the server cannot be reached or is busy. */
const RETRY_MS = 2_000;
const NOT_NOW = [0, 429, 503];

/**
 * @param {(body: {words: string[]}) => Promise<Object>} load `words` of the client
 * @param {string[]} words
 * @param {boolean} ready whether the model is ready
 * @returns {{answer: Object|null, loading: boolean, problem: string}} `answer`: the latest one
 */
export function useWords(load, words, ready) {
  const [state, setState] = useState({ answer: null, loading: false, problem: "" });
  const name = words.join("\n");
  useEffect(() => {
    if (!ready || words.length < 2) return undefined;
    let disposed = false;
    let timer = null;
    const ask = async () => {
      setState((now) => ({ ...now, loading: true }));
      try {
        const answer = await load({ words });
        if (!disposed) setState({ answer, loading: false, problem: "" });
      } catch (problem) {
        if (disposed) return;
        setState((now) => ({ ...now, loading: false, problem: problem.message }));
        if (NOT_NOW.includes(problem.status)) timer = setTimeout(ask, RETRY_MS);
      }
    };
    timer = setTimeout(ask, SETTLE_MS);
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [load, name, ready]);
  return state;
}
