/** A query's whole row read left to right: score, softmax, weight, and what each key adds to one number of the output. */

import { html } from "htm/preact";
import { bounded, counted, fixed } from "../../../shared/facts/format.js";
import { total } from "./attention-row.js";
import { RowKeys, ShareCell } from "./row-keys.js";

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
  const sum = (values, keys) => total(keys.map((key) => values[key]));
  const cells = (key) => html`<td>${fixed(softmax.scores[key], 2)}</td>
    <td>${bounded(softmax.powers[key], 3)}</td>
    <${ShareCell} weight=${softmax.weights[key]} />
    <td>${fixed(mix.values[key], 3)}</td>
    <td>${bounded(mix.parts[key], 4)}</td>`;
  const cellsOfRest = (rest) => html`<td></td>
    <td>${bounded(sum(softmax.powers, rest), 3)}</td>
    <td>${bounded(sum(softmax.weights, rest), 3)}</td>
    <td></td>
    <td>${bounded(sum(mix.parts, rest), 4)}</td>`;
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
        <${RowKeys} run=${run} focus=${focus} weights=${softmax.weights} dispatch=${dispatch} cells=${cells} rest=${cellsOfRest} />
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
