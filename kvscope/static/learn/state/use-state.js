/** Loads the state of the server: again on request, and while the engine is not ready. */

import { useCallback, useEffect, useState } from "preact/hooks";
import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";

const POLL_MS = 2_000;

/** @returns {{state: Object|null, problem: string, going: boolean, ask: () => void}} `state`: the last answer */
export function useServerState() {
  const [shown, setShown] = useState({ state: null, problem: "", going: true });
  const [requests, setRequests] = useState(0);
  useEffect(() => {
    const aborter = new AbortController();
    let timer = null;
    const load = async () => {
      try {
        const state = await read(aborter.signal);
        setShown({ state, problem: "", going: false });
        if (!state.cache) timer = setTimeout(load, POLL_MS);
      } catch (error) {
        if (!aborter.signal.aborted) setShown((now) => ({ ...now, problem: error.message, going: false }));
      }
    };
    load();
    return () => {
      aborter.abort();
      clearTimeout(timer);
    };
  }, [requests]);
  const ask = useCallback(() => {
    setShown((now) => ({ ...now, going: true }));
    setRequests((count) => count + 1);
  }, []);
  return { ...shown, ask };
}

async function read(signal) {
  let response;
  try {
    response = await fetchUnder("/api/state", { signal });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Error(msg`The server cannot be reached. Check that it is still running, then measure again.`);
  }
  if (!response.ok) throw await problemOf(response);
  return response.json();
}
