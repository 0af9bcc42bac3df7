/** The keys of a query's row as lines of a table: the heaviest and the one in sight, the rest in one line, more on demand. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, counted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { listedKeys } from "./attention-row.js";

const ROOM = 12;
const MORE = 50;

/**
 * @param {{run: Object, focus: Object, weights: ArrayLike<number>, dispatch: Function, cells: (key: number) => *, rest: (keys: number[]) => *}}
 *   props `weights`: share of each key; memoise it; `cells`: those of a key's line after its name; `rest`: the same of all that have no line
 */
export function RowKeys({ run, focus, weights, dispatch, cells, rest: cellsOfRest }) {
  const { query, key: chosen } = focus;
  const [room, setRoom] = useState(ROOM);
  const { listed, rest } = useMemo(() => listedKeys(weights, chosen, room), [weights, chosen, room]);
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
        <button type="button" onClick=${() => setRoom(room + MORE)}>${counted(rest.length, "key")} more ▾</button>
      </th>
      ${cellsOfRest(rest)}
    </tr>`
  }`;
}

/** A key's share, as a number and as a bar behind it. */
export function ShareCell({ weight }) {
  return html`<td class="row-weight" style=${`--share:${(weight * 100).toFixed(1)}%`}>${bounded(weight, 3)}</td>`;
}
