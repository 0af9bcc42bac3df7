/** The logs of the runs that this page's engine computes, frame by frame, as a server's database has those of its own. */

import { framed } from "../../shared/log/responses.js";

/** @typedef {{payloads: Uint8Array[], closed: boolean, waiting: Set<(value?: any) => void>}} Log */

export function createLogs() {
  /** @type {Map<string, Log>} */
  const logs = new Map();

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
