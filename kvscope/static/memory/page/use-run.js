/** The steps of a real run: those in its log, then each new one. */

import { useEffect, useState } from "preact/hooks";
import { decodeFrame, FrameSplitter } from "../../shared/log/frames.js";
import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder } from "../../shared/log/root.js";

/** How often the log of a running run is read again. */
const POLL_MS = 1_500;

/**
 * @param {{run: string|null, session: string|null}} which a run of this server, or a saved session
 * @returns {{open: Object|null, steps: Object[], live: boolean, problem: string}} `open` and `steps` as docs/frames.md has them
 */
export function useRun({ run, session }) {
  const [state, setState] = useState({ open: null, steps: [], live: false, problem: "" });
  useEffect(() => {
    if (!run && !session) return undefined;
    const base = run ? `/api/runs/${run}` : `/api/sessions/${session}`;
    const aborter = new AbortController();
    let [open, steps, after] = [null, [], -1];
    const take = ({ kind, seq, data }) => {
      after = seq;
      if (kind === "open") open = data;
      if (kind === "step") steps = [...steps, data];
      return kind === "close";
    };
    const read = async () => {
      for (;;) {
        const ended = await readFrames(`${base}/frames?after=${after}`, take, aborter.signal);
        setState({ open, steps, live: !ended && run !== null, problem: "" });
        if (ended || !run) return;
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
        if (aborter.signal.aborted) return;
      }
    };
    read().catch((error) => {
      if (!aborter.signal.aborted) setState({ open, steps, live: false, problem: error.message });
    });
    return () => aborter.abort();
  }, [run, session]);
  return state;
}

/** @returns {Promise<boolean>} whether the run has ended */
async function readFrames(path, take, signal) {
  const response = await fetchUnder(path, { signal });
  if (!response.ok) throw await problemOf(response);
  const splitter = new FrameSplitter();
  const reader = response.body.getReader();
  let ended = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return ended;
    for (const payload of splitter.push(value)) ended = take(decodeFrame(payload)) || ended;
  }
}
