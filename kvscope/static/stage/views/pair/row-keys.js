/** The keys of a query's row as rows of a table: the keys with the largest weights and the chosen key; the others share a row. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, integer } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { form, plural } from "../../../shared/words/msg.js";
import { listedKeys } from "./attention-row.js";

const FIRST = 12;
const STEP = 50;

/**
 * Lists the keys of a row, and shows more of them when the reader asks.
 *
 * @param {{run: Object, focus: Object, weights: ArrayLike<number>, dispatch: Function}} about `weights`: of each key; memoise it
 * @param {(key: number) => preact.ComponentChildren[]} cells of a key
 * @param {(keys: number[]) => preact.ComponentChildren[]} cellsOfRest of the row that the other keys share
 * @returns {import("../../../shared/ui/table.js").Row[]} keys before the first that the row reads are left out
 */
export function useRowKeys({ run, focus, weights, dispatch }, cells, cellsOfRest) {
  const { layer, query, key: chosen } = focus;
  const first = run.firstKey(layer, query);
  const [most, setMost] = useState(FIRST);
  const { listed, rest } = useMemo(() => listedKeys(weights, first, chosen, most), [weights, first, chosen, most]);
  const choose = (key) => dispatch({ type: "select", selection: { query, key } });
  const rows = listed.map((key) => ({
    key,
    head: html`<button type="button" aria-pressed=${key === chosen} onClick=${() => choose(key)}>
      <${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small>
    </button>`,
    cells: cells(key),
    kind: key === chosen && "is-chosen",
  }));
  if (!rest.length) return rows;
  const head = html`<button type="button" onClick=${() => setMost(most + STEP)}>${plural(rest.length, form`${integer(rest.length)} more key ▾`, form`${integer(rest.length)} more keys ▾`)}</button>`;
  return [...rows, { key: "rest", head, cells: cellsOfRest(rest) }];
}

/** A key's weight as a cell: a number, and a bar behind it. */
export function weightCell(weight) {
  return html`<td class="row-weight" style=${`--share:${(weight * 100).toFixed(1)}%`}>${bounded(weight, 3)}</td>`;
}
