/**
 * The changes that the viewer composes for a changed run: a list, and the list before each edit. Pure.
 *
 * @typedef {Object} Changing
 * @property {string} of id of the run that is computed again
 * @property {import("../../shared/facts/changes.js").Change[]} changes
 * @property {import("../../shared/facts/changes.js").Change[][]} past the lists before, oldest first
 * @property {string|null} edited the field that the last edit changed: further edits of it are undone together with it
 * @property {string[]|null} linked changes that the address names, until the panel has read them
 * @property {boolean} open whether its panel is shown
 * @property {boolean} resumed whether the last change was added to a list whose panel had been closed
 * @property {boolean} busy whether the run is being started
 * @property {Error|null} problem why it was not started
 * @property {string|null} started id of the changed run that was started last
 */

import { baseOf } from "../../shared/facts/changes.js";

/** How many edits can be undone. */
const MOST_PAST = 100;

/** @returns {Changing} a list that begins with the run's own changes */
function beginChanging(run) {
  return {
    of: baseOf(run),
    changes: run.open.changed?.changes ?? [],
    past: [],
    edited: null,
    linked: null,
    open: true,
    resumed: false,
    busy: false,
    problem: null,
    started: null,
  };
}

const openList = ({ changing, run }) => changing ?? beginChanging(run);

const isSame = (a, b) => Object.keys(b).every((name) => a[name] === b[name]);
const areSame = (a, b) => a.length === b.length && b.every((change, at) => isSame(a[at], change));

/** @param {string|null} [edited] a name of the edited field; edits with the same name are undone together */
function edit(changing, changes, edited = null) {
  const isSameField = edited !== null && edited === changing.edited;
  const past = isSameField ? changing.past : [...changing.past, changing.changes].slice(-MOST_PAST);
  return { changing: { ...changing, changes, past, edited, open: true, resumed: false, problem: null } };
}

/** Reducers by action; `state` is that of the Stage, with an open run. */
export const CHANGING = {
  /** Opens the panel: with the list that is being composed, or the run's own. */
  changing: (state) => ({ changing: { ...openList(state), open: true } }),
  changingClosed: ({ changing }) => ({ changing: changing && { ...changing, open: false } }),
  changesLinked: (state, { texts }) => ({ changing: { ...openList(state), open: true, linked: texts } }),
  /** Replaces the list by the one that the address names, as an edit. `problem`: why some changes are left out. */
  changesRead: ({ changing }, { changes, problem }) => {
    const read = { ...changing, linked: null };
    const stays = !changes.length || areSame(read.changes, changes);
    return { changing: { ...(stays ? read : edit(read, changes).changing), problem } };
  },
  /** Adds a change, unless the list has it. */
  addChange: (state, { change }) => {
    const changing = openList(state);
    const isThere = changing.changes.some((other) => isSame(other, change));
    if (isThere) return { changing: { ...changing, open: true } };
    const added = edit(changing, [...changing.changes, change]).changing;
    return { changing: { ...added, resumed: !changing.open && changing.changes.length > 0 } };
  },
  keepLastChange: ({ changing }) => edit(changing, changing.changes.slice(-1)),
  setChange: ({ changing }, { index, change, edited = null }) =>
    edit(changing, changing.changes.with(index, change), edited && `${index}.${edited}`),
  removeChange: ({ changing }, { index }) => edit(changing, changing.changes.toSpliced(index, 1)),
  undoChange: ({ changing }) => {
    if (!changing?.past.length) return {};
    const past = changing.past.slice(0, -1);
    return { changing: { ...changing, changes: changing.past.at(-1), past, edited: null, problem: null } };
  },
  changeSent: ({ changing }) => ({ changing: { ...changing, busy: true, problem: null } }),
  changeStarted: ({ changing }, { run }) => ({ changing: { ...changing, busy: false, open: false, started: run } }),
  changeRefused: ({ changing }, { problem }) => ({ changing: { ...changing, busy: false, problem } }),
};

/** @returns {Changing|null} the list to keep when another run is opened: only for the run that it changes and the one that it started */
export function changingFor(changing, id) {
  return changing && [changing.of, changing.started].includes(id) ? changing : null;
}
