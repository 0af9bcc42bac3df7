/** The state of the page: the changed inputs, the engine's answer, the selected cell. The address holds it too. */

import { useEffect, useRef, useState } from "preact/hooks";
import { fetchUnder } from "../shared/log/root.js";
import { msg } from "../shared/words/msg.js";
import { matrixWith, readSearch, searchOf } from "./address.js";
import { typedNumber } from "./numbers.js";
import { hiddenIn } from "./predict.js";
import { cellsOf, kindOf, numberIn, placeOf, tableOf } from "./table.js";

/** On these screens, the panel of a cell would cover the cell. */
const SMALL = "(max-width: 1099px), (max-height: 699px)";
const RETRY_MS = 1_000;
/** Between a matrix and what is below it. */
const GAP_PX = 12;
/** The selected cell at the start: a weight in a row with several. */
const FIRST_CELL = { a: "weights1:2:1", b: "weights1:1:0", c: "hidden:1:0" };

/**
 * @param {{example: "a"|"b"|"c", window: Window, keepAddress: boolean}} options `keepAddress`: the address belongs to another page
 * @returns {{shown: Object|null, open: boolean, wrong: Object|null, waiting: string, predict: number|null, code: boolean,
 *   focus: string[]|null, search: string, actions: Object}}
 *   `shown` is null until the first answer of the engine; `focus`: names of the matrices that are shown alone
 */
export function useExample({ example, window, keepAddress }) {
  const [state, setState] = useState(() => {
    const { inputs, cell, phase, predict, code, focus } = readSearch(window.location.search);
    const view = { cell: cell ?? FIRST_CELL[example], phase: phase ?? "decode", predict, code, focus };
    return {
      ...view,
      inputs,
      solved: [],
      open: Boolean(cell) || !window.matchMedia(SMALL).matches,
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
   * Requests an example from the engine, and uses only the answer to the newest request.
   *
   * `cell`: the cell that was edited. Successive edits of one cell are undone together.
   */
  const load = async (wanted, { cell = null, undone = null } = {}) => {
    const number = ++newest.current;
    for (;;) {
      const result = await request(`/api/by-hand/${example}${searchOf({ inputs: wanted })}`);
      if (number !== newest.current) return;
      if (result.answer) {
        const { table, inputs, edited, history, before } = live.current;
        const sameCell = cell !== null && cell === edited;
        set({
          ...{
            inputs: wanted,
            answer: result.answer,
            table: tableOf(result.answer),
            wrong: null,
            waiting: "",
            edited: cell,
          },
          history: undone ?? (table && !sameCell ? [...history, inputs] : history),
          // An undo marks no cell as changed.
          before: undone ? null : sameCell ? before : table,
        });
        return;
      }
      if (result.refused) {
        set({ wrong: { cell, text: result.refused } });
        // For an invalid link, the page shows the published example and the error.
        if (!live.current.table) set({ ...(await published()) });
        return;
      }
      set({ waiting: result.waiting });
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
    }
  };
  const published = async () => {
    const { answer } = await request(`/api/by-hand/${example}`);
    return answer ? { inputs: {}, answer, table: tableOf(answer) } : {};
  };

  useEffect(() => {
    load(state.inputs);
  }, []);
  const { inputs, cell, phase, predict, code, focus, table, answer } = state;
  // Read before the page writes its address. Without a cell in it, the page begins at the top.
  const shows = useRef(readSearch(window.location.search).cell !== null || code);
  useEffect(() => {
    if (!table) return;
    if (shows.current) showSelected(window);
    shows.current = true;
  }, [Boolean(table), cell, state.open, code]);
  const search = searchOf({ inputs, cell, phase, predict, code, focus });
  useEffect(() => {
    if (!keepAddress) window.history.replaceState(null, "", `${window.location.pathname}${search}`);
  }, [keepAddress, search, window]);

  const wantedWith = (name, text) => {
    const { block, row, column } = placeOf(name);
    const { part } = live.current.table.blocks[block];
    const rows = live.current.answer.example.parts[part.name];
    return { ...live.current.inputs, [part.name]: matrixWith(rows, part.at(row, column), text.replace(/[,;]/g, " ")) };
  };
  const actions = {
    select: (name) => set({ cell: name, open: true }),
    unfold: (open) => set({ open }),
    showAll: () => set({ focus: null }),
    toPhase: (next) => set({ phase: next, solved: [] }),
    /** Requests each valid number while it is typed. */
    edit: (name, text) => {
      const value = typedNumber(text);
      if (value !== null) load(wantedWith(name, String(value)), { cell: name });
    },
    /** The field lost focus: for text that is not a number, the server sends the error. */
    settle: (name, text) => {
      if (typedNumber(text) === null) load(wantedWith(name, text), { cell: name });
    },
    put: (name, text) => load({ ...live.current.inputs, [name]: text }, { cell: name }),
    toggleCode: () => set({ code: !live.current.code }),
    forget: () => set({ wrong: null }),
    undo: () => load(live.current.history.at(-1), { undone: live.current.history.slice(0, -1) }),
    reset: () => load({}),
    predict: (on) => set({ predict: on ? 0 : null, solved: [] }),
    nextRound: () => set({ predict: live.current.predict + 1, solved: [] }),
    solve: (name) => set({ solved: [...live.current.solved, name] }),
  };
  const names = table && predict !== null ? hiddenIn(table, phase, predict) : [];
  const exists = table && numberIn(table, cell) !== null && kindOf(table, cell, phase) !== "absent";
  const shown = table && {
    ...{ table, answer, example, phase, names, wrong: state.wrong, canUndo: state.history.length > 0 },
    cell: exists ? cell : FIRST_CELL[example],
    plain: Object.keys(inputs).length === 0,
    hidden: new Set(names.filter((name) => !state.solved.includes(name))),
    changed: changedBetween(state.before, table),
  };
  return { shown, open: state.open, wrong: state.wrong, waiting: state.waiting, predict, code, focus, search, actions };
}

/**
 * Scrolls the selected cell's matrix above the panels at the lower edge, together with the matrix over it, such as its
 * weights, if both fit.
 */
function showSelected({ document, scrollBy, innerHeight }) {
  const matrix = document.querySelector(".cell.is-selected")?.closest("table");
  if (!matrix) return;
  const edge = Math.min(document.querySelector(".by-hand-foot").getBoundingClientRect().top, innerHeight) - GAP_PX;
  const column = matrix.closest(".by-hand-column").getBoundingClientRect();
  const { top, bottom } = column.height < edge ? column : matrix.getBoundingClientRect();
  if (top < 0 || bottom > edge) scrollBy({ top: Math.min(top - GAP_PX, bottom - edge) });
}

/** @returns {Set<string>} the cells whose numbers differ; none without an earlier table */
function changedBetween(before, table) {
  if (!before) return new Set();
  return new Set(cellsOf(table).filter((name) => numberIn(before, name) !== numberIn(table, name)));
}

/** @returns {Promise<{answer?: Object, refused?: string, waiting?: string}>} `refused`, `waiting`: sentences for the page */
async function request(path) {
  try {
    const response = await fetchUnder(path);
    if (response.ok) return { answer: await response.json() };
    const { detail } = await response.json();
    return response.status === 503 ? { waiting: detail } : { refused: detail };
  } catch {
    return { waiting: msg`The server did not respond. Trying again…` };
  }
}
