/** The state of the page: what was changed, what the engine gave for it, what is in sight. It is in the address, too. */

import { useEffect, useRef, useState } from "preact/hooks";
import { fetchUnder } from "../shared/log/root.js";
import { matrixWith, readSearch, searchOf } from "./address.js";
import { typedNumber } from "./numbers.js";
import { hiddenIn } from "./predict.js";
import { cellsOf, kindOf, numberIn, placeOf, tableOf } from "./table.js";

/** There the panel of a number would cover what it is about. */
const SMALL = "(max-width: 1099px), (max-height: 699px)";
const RETRY_MS = 1_000;
/** What a page opens with: a share of a row that has several. */
const OPENS_AT = { a: "weights1:2:1", b: "weights1:1:0" };

/**
 * @param {{example: "a"|"b", window: Window, keepAddress: boolean}} options `keepAddress`: the address is another page's to write
 * @returns {{shown: Object|null, open: boolean, wrong: Object|null, waiting: string, predict: number|null, search: string, actions: Object}}
 *   `shown` is null until the engine has answered once
 */
export function useExample({ example, window, keepAddress }) {
  const [state, setState] = useState(() => {
    const { asked, cell, moment, predict } = readSearch(window.location.search);
    const seen = { cell: cell ?? OPENS_AT[example], moment: moment ?? "decode", predict };
    return {
      ...seen,
      asked,
      found: [],
      open: !window.matchMedia(SMALL).matches,
      answer: null,
      table: null,
      before: null,
      history: [],
      edited: null,
      wrong: null,
      waiting: "",
    };
  });
  const live = useRef(state);
  const newest = useRef(0);
  const set = (patch) => {
    live.current = { ...live.current, ...patch };
    setState(live.current);
  };

  /**
   * Have the engine work an example out; what comes back later than the newest answer is dropped.
   *
   * `cell`: what was typed into. Changes of one cell in a row are undone together.
   */
  const ask = async (wanted, { cell = null, undone = null } = {}) => {
    const number = ++newest.current;
    for (;;) {
      const told = await request(`/api/by-hand/${example}${searchOf({ asked: wanted })}`);
      if (number !== newest.current) return;
      if (told.answer) {
        const { table, asked, edited, history, before } = live.current;
        const goesOn = cell !== null && cell === edited;
        set({
          ...{
            asked: wanted,
            answer: told.answer,
            table: tableOf(told.answer),
            wrong: null,
            waiting: "",
            edited: cell,
          },
          history: undone ?? (table && !goesOn ? [...history, asked] : history),
          // What was undone is as it was: nothing of it is new.
          before: undone ? null : goesOn ? before : table,
        });
        return;
      }
      if (told.refused) {
        set({ wrong: { cell, text: told.refused } });
        // Of a link that cannot be read what was published is shown, and why.
        if (!live.current.table) set({ ...(await published()) });
        return;
      }
      set({ waiting: told.waits });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const published = async () => {
    const { answer } = await request(`/api/by-hand/${example}`);
    return answer ? { asked: {}, answer, table: tableOf(answer) } : {};
  };

  useEffect(() => {
    ask(state.asked);
  }, []);
  const { asked, cell, moment, predict, table, answer } = state;
  const search = searchOf({ asked, cell, moment, predict });
  useEffect(() => {
    if (!keepAddress) window.history.replaceState(null, "", `${window.location.pathname}${search}`);
  }, [keepAddress, search, window]);

  const wantedWith = (name, text) => {
    const { block, row, column } = placeOf(name);
    const { part } = live.current.table.blocks[block];
    const rows = live.current.answer.example.parts[part.name];
    return { ...live.current.asked, [part.name]: matrixWith(rows, part.at(row, column), text.replace(/[,;]/g, " ")) };
  };
  const actions = {
    select: (name) => set({ cell: name, open: true }),
    unfold: (open) => set({ open }),
    toMoment: (next) => set({ moment: next, found: [] }),
    /** While somebody types, what is a number is asked for at once. */
    edit: (name, text) => {
      const value = typedNumber(text);
      if (value !== null) ask(wantedWith(name, String(value)), { cell: name });
    },
    /** A field was left: what is no number is told by who would have to take it. */
    settle: (name, text) => {
      if (typedNumber(text) === null) ask(wantedWith(name, text), { cell: name });
    },
    put: (name, text) => ask({ ...live.current.asked, [name]: text }, { cell: name }),
    forget: () => set({ wrong: null }),
    undo: () => ask(live.current.history.at(-1), { undone: live.current.history.slice(0, -1) }),
    reset: () => ask({}),
    predict: (on) => set({ predict: on ? 0 : null, found: [] }),
    nextRound: () => set({ predict: live.current.predict + 1, found: [] }),
    found: (name) => set({ found: [...live.current.found, name] }),
  };
  const names = table && predict !== null ? hiddenIn(table, moment, predict) : [];
  const there = table && numberIn(table, cell) !== null && kindOf(table, cell, moment) !== "absent";
  const shown = table && {
    ...{ table, answer, example, moment, names, wrong: state.wrong, canUndo: state.history.length > 0 },
    cell: there ? cell : OPENS_AT[example],
    plain: Object.keys(asked).length === 0,
    hidden: new Set(names.filter((name) => !state.found.includes(name))),
    changed: changedBetween(state.before, table),
  };
  return { shown, open: state.open, wrong: state.wrong, waiting: state.waiting, predict, search, actions };
}

/** @returns {Set<string>} the cells whose numbers are others than they were; none where there was nothing before */
function changedBetween(before, table) {
  if (!before) return new Set();
  return new Set(cellsOf(table).filter((name) => numberIn(before, name) !== numberIn(table, name)));
}

/** What became of a request: an answer, a refusal in a sentence, or a sentence while it has to wait. */
async function request(path) {
  try {
    const response = await fetchUnder(path);
    if (response.ok) return { answer: await response.json() };
    const { detail } = await response.json();
    return response.status === 503 ? { waits: detail } : { refused: detail };
  } catch {
    return { waits: "The server was not reached. Trying again." };
  }
}
