/** The rows of words beside each other, from the server's model. */

import { useEffect, useState } from "preact/hooks";

/** Typing goes on for so long. */
const SETTLE_MS = 350;
/** Delay before a retry when the server cannot be reached or is busy. */
const RETRY_MS = 2_000;
const NOT_NOW = [0, 429, 503];

/**
 * @param {(asked: {words: string[]}) => Promise<Object>} load
 * @param {string[]} words
 * @param {boolean} ready whether the model can be asked
 * @returns {{answer: Object|null, loading: boolean, problem: string}} `answer`: the last that arrived
 */
export function useWords(load, words, ready) {
  const [state, setState] = useState({ answer: null, loading: false, problem: "" });
  const name = words.join("\n");
  useEffect(() => {
    if (!ready || words.length < 2) return undefined;
    let left = false;
    let timer = null;
    const ask = async () => {
      setState((now) => ({ ...now, loading: true }));
      try {
        const answer = await load({ words });
        if (!left) setState({ answer, loading: false, problem: "" });
      } catch (problem) {
        if (left) return;
        setState((now) => ({ ...now, loading: false, problem: problem.message }));
        if (NOT_NOW.includes(problem.status)) timer = setTimeout(ask, RETRY_MS);
      }
    };
    timer = setTimeout(ask, SETTLE_MS);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [load, name, ready]);
  return state;
}
