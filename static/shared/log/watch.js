/**
 * Delivers every frame of a run once and in order, also over a bad network: stored frames over HTTP, new frames over the socket, and
 * missing frames over HTTP again.
 */

import { asBytes, decodeFrame } from "./frames.js";

/** Interval between HTTP requests while the socket is unavailable, in ms. */
const POLL_MS = 700;

/**
 * @param {Object} parts
 * @param {string} parts.run
 * @param {number} parts.after the newest known frame, −1 for none
 * @param {Function} parts.frames
 * @param {() => Object} parts.openSocket
 * @param {{onFrame: (frame: Object) => void, onConnection: (there: boolean) => void, onProblem: (problem: import("./problem.js").Problem) => void}}
 *   parts.handlers `onProblem` is final: the run cannot be watched
 * @param {boolean} parts.grows whether new frames may come
 * @returns {() => void} stops watching
 */
export function watch({ run, after, handlers, frames, openSocket, grows }) {
  const aborter = new AbortController();
  let newest = after;
  let announced = after;
  let over = false;
  let filling = false;
  let timer = null;
  let leaveSocket = () => {};

  /** Stops watching; pending requests end by themselves. */
  const finish = () => {
    over = true;
    clearTimeout(timer);
    leaveSocket();
  };

  const stop = () => {
    finish();
    aborter.abort();
  };

  const take = (frame) => {
    if (over || frame.seq !== newest + 1) return;
    newest = frame.seq;
    handlers.onFrame(frame);
    if (frame.kind === "close") finish();
  };

  /** Reads all stored frames after the newest one, until no announced frame is missing. */
  const fill = async () => {
    if (filling) return;
    filling = true;
    try {
      do await frames(run, newest, take, aborter.signal);
      while (announced > newest && !over);
      if (!over) handlers.onConnection(true);
    } catch (problem) {
      if (over) return;
      const refused = problem.status >= 400 && problem.status < 500;
      // A log that does not grow stays damaged, so no retry.
      if (refused || (!grows && problem.status === 500)) {
        stop();
        handlers.onProblem(problem);
      } else handlers.onConnection(false);
    } finally {
      filling = false;
    }
  };

  const poll = async () => {
    await fill();
    if (!over) timer = setTimeout(poll, POLL_MS);
  };

  const joinSocket = () => {
    const socket = openSocket();
    const ask = () => {
      clearTimeout(timer);
      handlers.onConnection(true);
      // Without the socket, the run is read over HTTP until it has ended; HTTP also returns the reason.
      socket.emit("watch", { run, after: newest }, (answer) => {
        if (answer.error && !over) onLost();
      });
    };
    const onBytes = (payload) => {
      const frame = decodeFrame(asBytes(payload));
      if (frame.run !== run) return;
      announced = Math.max(announced, frame.seq);
      if (frame.seq > newest + 1) fill();
      else take(frame);
    };
    const onLost = () => {
      clearTimeout(timer);
      timer = setTimeout(poll, POLL_MS);
    };
    const listeners = { connect: ask, frame: onBytes, disconnect: onLost, connect_error: onLost };
    for (const [name, listener] of Object.entries(listeners)) socket.on(name, listener);
    leaveSocket = () => {
      for (const [name, listener] of Object.entries(listeners)) socket.off(name, listener);
      if (socket.connected) socket.emit("unwatch", { run });
    };
    if (socket.connected) ask();
  };

  fill().then(() => {
    if (over) return;
    if (grows) joinSocket();
    else timer = setTimeout(poll, POLL_MS);
  });
  return stop;
}
