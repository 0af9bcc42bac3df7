/** The questions of a room whose answers were shown in this tab: the room itself keeps the last one, and a reload must not lose the others. */

import { storedList } from "../shared/state/stored-list.js";

const KEY = "kvscope.room-answers";
const MOST = 100;

/** @param {{getItem: Function, setItem: Function}} storage of the tab @param {string|null} code of the room */
export function createHistograms(storage, code) {
  const isEntry = (entry) => entry?.code === code && Array.isArray(entry.question?.rounds);
  const list = storedList(storage, KEY, { isEntry, most: MOST });
  let last = list.all().map(({ question }) => question);
  return {
    /** @returns {Object[]} oldest first */
    all: () => last,
    keep(questions) {
      if (questions === last) return;
      last = questions;
      list.keep(questions.map((question) => ({ code, question })));
    },
  };
}
