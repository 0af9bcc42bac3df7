/**
 * Delivers every frame of a run once and in order, also over a bad network: stored frames over HTTP, new frames over the socket, and
 * missing frames over HTTP again.
 */

import { asBytes, decodeFrame } from "./frames.js";

/** Interval between HTTP requests while the socket is unavailable, in ms. */
const POLL_MS = 700;
/** After this time without its frames, a page that is back shows that it is reconnecting. */
const SLOW_MS = 400;
/** A socket that does not answer within this time is opened again: its own pings notice a lost server only after 45 s. */
const PROBE_MS = 3000;

/**
 * @param {Object} parts
 * @param {string} parts.run
 * @param {number} parts.after the newest known frame, −1 for none
 * @param {Function} parts.frames
 * @param {() => Object} parts.openSocket
 * @param {{onFrame: (frame: Object) => void, onConnection: (there: boolean) => void, onCaughtUp?: (steps: number) => void,
 *   onProblem: (problem: import("./problem.js").Problem) => void}} parts.handlers `onCaughtUp`: how many steps came at once after the connection
 *   was lost or the page was away; `onProblem` is final: the run cannot be watched
 * @param {boolean} parts.grows whether new frames may come
 * @param {(listener: (how: "back"|"offline") => void) => () => void} parts.presence `followPresence` of the page's window
 * @returns {() => void} stops watching
 */
export function watch({ run, after, handlers, frames, openSocket, grows, presence }) {
  let newest = after;
  let announced = after;
  let over = false;
  /** The request in progress. */
  let filling = /** @type {AbortController|null} */ (null);
  let timer = null;
  /** The number of steps that arrived since the connection was lost or the page was away; null: the page is connected. */
  let missed = /** @type {number|null} */ (null);
  let leaveSocket = () => {};
  let askSocket = () => {};

  /** Stops watching; pending requests end by themselves. */
  const finish = () => {
    over = true;
    clearTimeout(timer);
    leavePage();
    leaveSocket();
  };

  const stop = () => {
    finish();
    missed = null;
    filling?.abort();
  };

  const lost = () => {
    missed ??= 0;
    handlers.onConnection(false);
  };

  const reconnected = () => {
    const steps = missed;
    missed = null;
    handlers.onConnection(true);
    if (steps) handlers.onCaughtUp?.(steps);
  };

  const take = (frame) => {
    if (over || frame.seq !== newest + 1) return;
    newest = frame.seq;
    if (missed !== null && frame.kind === "step") missed += 1;
    handlers.onFrame(frame);
    if (frame.kind === "close") finish();
  };

  /** Reads all stored frames after the newest one, until no announced frame is missing. */
  const fill = async () => {
    if (filling) return;
    const aborter = new AbortController();
    filling = aborter;
    try {
      do await frames(run, newest, take, aborter.signal);
      while (announced > newest && !over);
      if (!over || missed) reconnected();
    } catch (problem) {
      if (over || filling !== aborter) return;
      const refused = problem.status >= 400 && problem.status < 500;
      // A log that does not grow stays damaged, so no retry.
      if (refused || (!grows && problem.status === 500)) {
        stop();
        handlers.onProblem(problem);
      } else lost();
    } finally {
      if (filling === aborter) filling = null;
    }
  };

  /** The request in progress, if any, may wait on a connection that no longer exists. */
  const readAgain = async () => {
    filling?.abort();
    filling = null;
    missed ??= 0;
    const slow = setTimeout(lost, SLOW_MS);
    askSocket();
    await fill();
    clearTimeout(slow);
  };
  const leavePage = presence((how) => (how === "offline" ? lost() : readAgain()));

  const poll = async () => {
    await fill();
    if (!over) timer = setTimeout(poll, POLL_MS);
  };

  const joinSocket = () => {
    const socket = openSocket();
    const ask = () => {
      clearTimeout(timer);
      if (missed === null) handlers.onConnection(true);
      else fill();
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
    // Frames come over HTTP until the socket has answered.
    askSocket = () => {
      onLost();
      if (!socket.connected) {
        socket.connect();
        return;
      }
      socket.timeout(PROBE_MS).emit("watch", { run, after: newest }, (silent, answer) => {
        if (over) return;
        if (silent) socket.disconnect().connect();
        else if (!answer.error) clearTimeout(timer);
      });
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
