/** The steps of a real run: those of its log so far, then each as it comes. */

import { useEffect, useState } from "preact/hooks";
import { decodeFrame, FrameSplitter } from "../../shared/log/frames.js";
import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder } from "../../shared/log/root.js";

/** How often a run that goes on is asked for again. */
const AGAIN_MS = 1_500;

/**
 * @param {{run: string|null, session: string|null}} which a run of this server, or a saved session; neither: none
 * @returns {{open: Object|null, steps: Object[], live: boolean, problem: string}} `open` and `steps` as docs/frames.md has them
 */
export function useRun({ run, session }) {
  const [found, setFound] = useState({ open: null, steps: [], live: false, problem: "" });
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
        const over = await readFrames(`${base}/frames?after=${after}`, take, aborter.signal);
        setFound({ open, steps, live: !over && run !== null, problem: "" });
        if (over || !run) return;
        await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
        if (aborter.signal.aborted) return;
      }
    };
    read().catch((error) => {
      if (!aborter.signal.aborted) setFound({ open, steps, live: false, problem: error.message });
    });
    return () => aborter.abort();
  }, [run, session]);
  return found;
}

/** @returns {Promise<boolean>} whether the run has ended */
async function readFrames(path, take, signal) {
  const response = await fetchUnder(path, { signal });
  if (!response.ok) throw await problemOf(response);
  const splitter = new FrameSplitter();
  const reader = response.body.getReader();
  let over = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return over;
    for (const payload of splitter.push(value)) over = take(decodeFrame(payload)) || over;
  }
}
