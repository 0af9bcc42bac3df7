/** The page's end of the engine: calls the worker, and starts another one if it ends. */

import { Problem } from "../../shared/log/problem.js";
import { msg } from "../../shared/words/msg.js";

/**
 * @param {Object} parts
 * @param {() => Promise<Worker>} parts.start starts a worker
 * @param {(frames: {run: string, payloads: Uint8Array[], closed: boolean}) => void} parts.onFrames
 * @param {() => void} parts.onLost called when the worker has ended by itself
 */
export function createEngine({ start, onFrames, onLost }) {
  /** @type {Worker|null} */
  let worker = null;
  let next = 0;
  /** @type {Map<number, {resolve: (value: any) => void, reject: (problem: Error) => void}>} */
  const waiting = new Map();

  const lose = () => {
    worker?.terminate();
    worker = null;
    for (const { reject } of waiting.values()) reject(new Problem(LOST));
    waiting.clear();
    onLost();
  };

  const onMessage = ({ data: { id, value, problem, frames } }) => {
    if (frames) return onFrames(frames);
    const call = waiting.get(id);
    waiting.delete(id);
    if (problem) call?.reject(new Problem(problem));
    else call?.resolve(value);
  };

  return {
    /** Starts the worker. Rejects if the browser refuses, or if the signal aborts meanwhile. */
    async begin(signal) {
      const started = await start();
      if (signal.aborted) {
        started.terminate();
        throw signal.reason;
      }
      worker = started;
      worker.onmessage = onMessage;
      worker.onerror = lose;
      worker.onmessageerror = lose;
    },

    /** @returns {Promise<any>} the worker's answer  @throws {Problem} */
    call(name, argument, transfer = []) {
      if (!worker) return Promise.reject(new Problem(LOST));
      const id = next++;
      return new Promise((resolve, reject) => {
        waiting.set(id, { resolve, reject });
        worker?.postMessage({ id, call: name, argument }, transfer);
      });
    },

    /** Ends the worker and what it computes. */
    end() {
      if (worker) lose();
    },
  };
}

const LOST = {
  title: msg`The model on this device has stopped`,
  detail: msg`Load it again to go on. What was computed stays.`,
  status: 503,
};
