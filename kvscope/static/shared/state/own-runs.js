/**
 * Remembers the runs that this device derived from a recording that ships with the project. Everybody knows the id of a recording, so
 * the server lists only the derived runs that a request names.
 */

import { storedList } from "./stored-list.js";

const KEY = "kvscope.own-runs";
/** The most runs that one request may name; the oldest are dropped. */
const MOST = 64;

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {string[]} shipped ids of the recorded runs
 */
export function createOwnRuns(storage, shipped) {
  const { all, keep } = storedList(storage, KEY, { isEntry: (id) => typeof id === "string", most: MOST });
  const concerns = (run, own) => shipped.includes(run) || own.includes(run);

  return {
    /** Remembers a branch, twin or beam search of `run`, if `run` is a recorded run. */
    add(run, derived) {
      const own = all();
      if (concerns(run, own)) keep([...own, derived]);
    },

    /** @returns {string[]} ids that a request for the family of `run` must name */
    besides(run) {
      const own = all();
      return concerns(run, own) ? own : [];
    },
  };
}
