/** A query's whole row read left to right: score, softmax, weight, and what each key adds to one number of the output. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, counted, fixed } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { listedKeys, total } from "./attention-row.js";

const ROOM = 12;
const MORE = 50;

/**
 * @param {Object} props
 * @param {Object} props.run
 * @param {Object} props.focus
 * @param {number} props.dimension
 * @param {Function} props.dispatch
 * @param {Object} props.softmax as `attentionRow` gives it
 * @param {Object} props.mix as `mixAt` gives it, for `dimension`
 */
export function RowTable({ run, focus, softmax, mix, dimension, dispatch }) {
  const { query, key: chosen } = focus;
  const [room, setRoom] = useState(ROOM);
  const { listed, rest } = useMemo(() => listedKeys(softmax.weights, chosen, room), [softmax, chosen, room]);
  const choose = (key) => dispatch({ type: "select", selection: { query, key } });
  const sum = (values, keys) => total(keys.map((key) => values[key]));
  return html`<div class="row-box across">
    <table class="row-table small fill">
      <thead>
        <tr>
          <th scope="col">key</th>
          <th scope="col">score</th>
          <th scope="col" title=${`e to the power of: score minus ${fixed(softmax.max, 2)}, the largest score of this row`}>
            exp(score − max)
          </th>
          <th scope="col">weight</th>
          <th scope="col"><span class="word-cached">v</span>[${dimension}]</th>
          <th scope="col">weight × v[${dimension}]</th>
        </tr>
      </thead>
      <tbody>
        ${listed.map(
          (key) => html`<tr key=${key} class=${key === chosen ? "is-chosen" : ""}>
            <th scope="row">
              <button type="button" aria-pressed=${key === chosen} onClick=${() => choose(key)}>
                <${Token} token=${run.tokens[key]} limit=${10} /> <small>${key}</small>
              </button>
            </th>
            <td>${fixed(softmax.scores[key], 2)}</td>
            <td>${bounded(softmax.powers[key], 3)}</td>
            <td class="row-weight" style=${`--share:${(softmax.weights[key] * 100).toFixed(1)}%`}>
              ${bounded(softmax.weights[key], 3)}
            </td>
            <td>${fixed(mix.values[key], 3)}</td>
            <td>${bounded(mix.parts[key], 4)}</td>
          </tr>`,
        )}
        ${
          rest.length > 0 &&
          html`<tr class="is-rest">
            <th scope="row">
              <button type="button" onClick=${() => setRoom(room + MORE)}>${counted(rest.length, "key")} more ▾</button>
            </th>
            <td></td>
            <td>${bounded(sum(softmax.powers, rest), 3)}</td>
            <td>${bounded(sum(softmax.weights, rest), 3)}</td>
            <td></td>
            <td>${bounded(sum(mix.parts, rest), 4)}</td>
          </tr>`
        }
        ${
          softmax.masked > 0 &&
          html`<tr class="is-masked">
            <th scope="row" colspan="6">
              ${counted(softmax.masked, "later token")}: masked, no score and no share
            </th>
          </tr>`
        }
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">sum</th>
          <td></td>
          <td>${fixed(softmax.powerSum, 3)}</td>
          <td class="word-output">${fixed(softmax.weightSum, 3)}</td>
          <td></td>
          <td class="word-output">${fixed(mix.sum, 4)}</td>
        </tr>
      </tfoot>
    </table>
  </div>`;
}
