/** Loads a saved run. */

import { useEffect, useState } from "preact/hooks";
import { problemOf } from "../../shared/log/problem.js";
import { readFrames } from "../../shared/log/read-frames.js";
import { fetchUnder } from "../../shared/log/root.js";
import { Run } from "../../shared/log/run.js";

/**
 * @param {string|null} session null: loads nothing
 * @returns {{run: Run|null, title: string, problem: string}} `run`: null until it is complete
 */
export function useRecording(session) {
  const [state, setState] = useState({ run: null, title: "", problem: "" });
  useEffect(() => {
    if (!session) return undefined;
    const aborter = new AbortController();
    readRecording(session, aborter.signal).then(
      ({ run, title }) => setState({ run, title, problem: "" }),
      (error) => aborter.signal.aborted || setState({ run: null, title: "", problem: error.message }),
    );
    return () => aborter.abort();
  }, [session]);
  return state;
}

async function readRecording(session, signal) {
  const address = `/api/sessions/${encodeURIComponent(session)}`;
  const [manifest, frames] = await Promise.all(
    [address, `${address}/frames?after=-1`].map(async (path) => {
      const response = await fetchUnder(path, { signal });
      if (!response.ok) throw await problemOf(response);
      return response;
    }),
  );
  const saved = await manifest.json();
  const run = new Run(saved.run, saved);
  await readFrames(frames, (frame) => run.push(frame));
  return { run, title: saved.title };
}
