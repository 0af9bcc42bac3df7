/**
 * The runs that this device made from a run that ships with the project. Everybody has the id of that one, so the server
 * lists of its family only what it is asked for by id.
 */

import { keptList } from "./kept-list.js";

const KEY = "kvscope.own-runs";
/** As many as the server takes at once; the oldest are forgotten. */
const MOST = 64;

/**
 * @param {{getItem: Function, setItem: Function}} storage of the device
 * @param {string[]} shipped ids of the runs that ship
 */
export function createOwnRuns(storage, shipped) {
  const { all, keep } = keptList(storage, KEY, { isEntry: (id) => typeof id === "string", most: MOST });
  const concerns = (run, own) => shipped.includes(run) || own.includes(run);

  return {
    /** Remembers the run `made`, a branch or a study of `run`, if nobody else is to be told of it. */
    add(run, made) {
      const own = all();
      if (concerns(run, own)) keep([...own, made]);
    },

    /** @returns {string[]} what is to be named when the family of `run` is asked for */
    besides(run) {
      const own = all();
      return concerns(run, own) ? own : [];
    },
  };
}
