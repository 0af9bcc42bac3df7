/** Watches the logs of both sides. Live runs, ended runs and saved sessions arrive through the same client. */

import { Problem } from "../shared/log/problem.js";
import { Run } from "../shared/log/run.js";
import { msg } from "../shared/words/msg.js";
import { isRun } from "./address.js";

/** Why a log of several sequences cannot be compared. */
const NOT_RUNS = {
  serving: msg`This is a workload of several requests. Only single runs can be compared here.`,
  beam: msg`This is a beam search. Only single runs can be compared here.`,
};

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {(saved: Object|null) => Object} parts.clientFor a client that reads this saved session, or runs
 */
export function createWatching({ store, clientFor }) {
  const { dispatch } = store;
  /** @type {Object<string, Watched|null>} */
  let watched = { a: null, b: null };

  /** Shows a run or saved session on a side; null empties it. */
  const show = (side, id) => {
    watched[side]?.stop();
    watched[side] = null;
    dispatch({ type: "show", side, id });
    if (id) watched[side] = new Watched(side, id, { dispatch, clientFor });
  };

  return {
    show,

    swap() {
      watched = { a: watched.b, b: watched.a };
      for (const side of ["a", "b"]) if (watched[side]) watched[side].side = side;
      dispatch({ type: "swap" });
    },
  };
}

/** A log on one of the sides, until another run takes its place. */
class Watched {
  constructor(side, id, { dispatch, clientFor }) {
    this.side = side;
    this.#dispatch = dispatch;
    this.#begin(id, clientFor);
  }

  #dispatch;
  #aborter = new AbortController();
  #unwatch = () => {};

  stop() {
    this.#aborter.abort();
    this.#unwatch();
  }

  get #over() {
    return this.#aborter.signal.aborted;
  }

  async #begin(id, clientFor) {
    try {
      const saved = isRun(id) ? null : await clientFor(null).manifest(id, { signal: this.#aborter.signal });
      if (this.#over) return;
      const log = new Run(saved?.run ?? id, saved);
      this.#unwatch = clientFor(saved).watch(log.id, -1, {
        onFrame: (frame) => this.#take(log, frame),
        onConnection() {},
        onProblem: (problem) => this.#fail(problem),
      });
    } catch (problem) {
      this.#fail(problem);
    }
  }

  #take(log, frame) {
    const study = frame.kind === "open" ? frame.data.study?.kind : null;
    if (NOT_RUNS[study]) {
      this.#fail(new Problem({ title: NOT_RUNS[study] }));
      this.stop();
      return;
    }
    log.push(frame);
    if (frame.kind === "open") this.#dispatch({ type: "opened", side: this.side, log });
    else if (frame.kind !== "layer") this.#dispatch({ type: "grew" });
  }

  #fail(problem) {
    if (!this.#over) this.#dispatch({ type: "failed", side: this.side, problem });
  }
}
