/**
 * Every frame of a run once and in order, whatever the network does: what is stored comes over HTTP, what is new over the
 * socket, and a hole in the sequence is filled over HTTP again.
 */

import { asBytes, decodeFrame } from "./frames.js";

/** How often a run is asked for over HTTP while the socket cannot be had, in ms. */
const POLL_MS = 700;

/**
 * @param {Object} parts
 * @param {string} parts.run
 * @param {number} parts.after the newest frame that is known, −1 for none
 * @param {Function} parts.frames
 * @param {() => Object} parts.openSocket
 * @param {{onFrame: (frame: Object) => void, onConnection: (there: boolean) => void, onProblem: (problem: import("./problem.js").Problem) => void}}
 *   parts.handlers `onProblem` is final: the run cannot be watched
 * @param {boolean} parts.grows whether frames may come that are not stored yet
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

  /** Nothing more is wanted. What is still being answered ends by itself. */
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

  /** Takes everything stored after the newest frame, until nothing that was announced is missing. */
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
      // What does not grow does not get better either: a part of it is damaged.
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
      // What cannot be watched now is read over HTTP, which also says why, until it has ended.
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
