/**
 * The logs of the runs that this page's engine computes, frame by frame, as a server's database has those of its own. They are in memory:
 * when a run begins and there are too many bytes, the logs that ended and were read longest ago are removed.
 */

import { framed } from "../../shared/log/responses.js";

/** @typedef {{payloads: Uint8Array[], closed: boolean, waiting: Set<(value?: any) => void>}} Log */

/** Bytes of all logs: about eight runs of 256 tokens. */
const MOST_BYTES = 100e6;

export function createLogs({ mostBytes = MOST_BYTES } = {}) {
  /** Read longest ago first. @type {Map<string, Log>} */
  const logs = new Map();

  const makeRoom = () => {
    let bytes = [...logs.values()].reduce((sum, log) => sum + bytesOf(log), 0);
    for (const [run, log] of logs) {
      if (bytes <= mostBytes) return;
      if (!log.closed) continue;
      bytes -= bytesOf(log);
      logs.delete(run);
    }
  };

  const wake = (log) => {
    for (const resume of log.waiting) resume();
    log.waiting.clear();
  };

  return {
    has: (run) => logs.has(run),
    /** @returns {Log} */
    of: (run) => logs.get(run),
    runs: () => [...logs.keys()],

    /** Begins a log with frames that exist already. */
    begin(run, payloads = []) {
      makeRoom();
      logs.set(run, { payloads, closed: false, waiting: new Set() });
    },

    add(run, payloads, closed) {
      const log = logs.get(run);
      if (!log) return;
      log.payloads.push(...payloads);
      log.closed ||= closed;
      wake(log);
    },

    remove(run) {
      const log = logs.get(run);
      logs.delete(run);
      if (log) {
        log.closed = true;
        wake(log);
      }
    },

    /**
     * @param {string} run
     * @param {number} after the newest frame that the reader has, −1 for none
     * @param {AbortSignal} [signal]
     * @returns {ReadableStream<Uint8Array>} its frames, each after its length, until the log is closed
     */
    stream(run, after, signal) {
      const log = logs.get(run);
      logs.delete(run);
      logs.set(run, log);
      let at = after + 1;
      signal?.addEventListener("abort", () => wake(log), { once: true });
      return new ReadableStream({
        async pull(controller) {
          while (at >= log.payloads.length && !log.closed && !signal?.aborted) {
            await new Promise((resume) => log.waiting.add(resume));
          }
          if (at >= log.payloads.length) return controller.close();
          controller.enqueue(framed(log.payloads[at]));
          at += 1;
        },
      });
    },
  };
}

/** @param {Log} log */
const bytesOf = ({ payloads }) => payloads.reduce((sum, { byteLength }) => sum + byteLength, 0);
