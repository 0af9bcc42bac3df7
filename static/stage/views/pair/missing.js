/** In place of the numbers of a query·key pair, where nobody can have them: the row as the run's log has it. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, counted } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";
import { listedKeys } from "./attention-row.js";

const ROOM = 12;
const MORE = 50;

/** @param {{why: string, run: Object, focus: Object, dispatch: Function}} props `why`: a sentence */
export function Missing({ why, run, focus, dispatch }) {
  const { layer, head, query, key: chosen } = focus;
  const [room, setRoom] = useState(ROOM);
  const weights = useMemo(
    () => Array.from({ length: query + 1 }, (_, key) => run.weight(layer, head, query, key)),
    [run, layer, head, query],
  );
  const { listed, rest } = useMemo(() => listedKeys(weights, chosen, room), [weights, chosen, room]);
  return html`<section class="pair-part box pair-missing stack" aria-label="What the log has">
    <p role="status">${why}</p>
    <p class="pair-how muted small">
      The run's log has the share that each key gets, within 0.004 <${Badge} origin="computed" />. It does not have the vectors
      q, k and v, nor the scores they give.
    </p>
    <div class="row-box across">
      <table class="row-table small fill">
        <thead>
          <tr><th scope="col">key</th><th scope="col">share</th></tr>
        </thead>
        <tbody>
          ${listed.map(
            (key) => html`<tr key=${key} class=${key === chosen ? "is-chosen" : ""}>
              <th scope="row">
                <button
                  type="button" aria-pressed=${key === chosen}
                  onClick=${() => dispatch({ type: "select", selection: { query, key } })}
                ><${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small></button>
              </th>
              <td class="row-weight" style=${`--share:${(weights[key] * 100).toFixed(1)}%`}>${bounded(weights[key], 3)}</td>
            </tr>`,
          )}
          ${
            rest.length > 0 &&
            html`<tr class="is-rest">
              <th scope="row">
                <button type="button" onClick=${() => setRoom(room + MORE)}>${counted(rest.length, "key")} more ▾</button>
              </th>
              <td></td>
            </tr>`
          }
        </tbody>
      </table>
    </div>
  </section>`;
}
