/** The keys of a query's row as rows of a table: those with the largest weights and the chosen one; the others share a row. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, integer } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { form, plural } from "../../../shared/words/msg.js";
import { listedKeys } from "./attention-row.js";

const FIRST = 12;
const STEP = 50;

/**
 * @param {{run: Object, focus: Object, weights: ArrayLike<number>, dispatch: Function, cells: (key: number) => *, rest: (keys: number[]) => *}}
 *   props `weights`: of each key; memoise it; those before the first that the row reads are left out; `cells`: a key's table cells after its name; `rest`: the same for the keys without a row
 */
export function RowKeys({ run, focus, weights, dispatch, cells, rest: cellsOfRest }) {
  const { layer, query, key: chosen } = focus;
  const first = run.firstKey(layer, query);
  const [most, setMost] = useState(FIRST);
  const { listed, rest } = useMemo(() => listedKeys(weights, first, chosen, most), [weights, first, chosen, most]);
  const choose = (key) => dispatch({ type: "select", selection: { query, key } });
  return html`${listed.map(
    (key) => html`<tr key=${key} class=${key === chosen ? "is-chosen" : ""}>
      <th scope="row">
        <button type="button" aria-pressed=${key === chosen} onClick=${() => choose(key)}>
          <${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small>
        </button>
      </th>
      ${cells(key)}
    </tr>`,
  )}
  ${
    rest.length > 0 &&
    html`<tr class="is-rest">
      <th scope="row">
        <button type="button" onClick=${() => setMost(most + STEP)}>${plural(rest.length, form`${integer(rest.length)} more key ▾`, form`${integer(rest.length)} more keys ▾`)}</button>
      </th>
      ${cellsOfRest(rest)}
    </tr>`
  }`;
}

/** A key's weight, as a number and as a bar behind it. */
export function WeightCell({ weight }) {
  return html`<td class="row-weight" style=${`--share:${(weight * 100).toFixed(1)}%`}>${bounded(weight, 3)}</td>`;
}
