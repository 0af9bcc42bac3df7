/** A query's whole row: the score of each key, its softmax and weight, and the term it adds to one dimension of the output. */

import { html } from "htm/preact";
import { bounded, fixed, integer } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { total } from "./attention-row.js";
import { RowKeys, WeightCell } from "./row-keys.js";

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
    <${WeightCell} weight=${softmax.weights[key]} />
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
          <th scope="col">${msg`key`}</th>
          <th scope="col">${msg`score`}</th>
          <th scope="col" title=${msg`The largest score of this row is ${fixed(softmax.max, 2)}`}>
            ${msg`exp(score − max)`}
          </th>
          <th scope="col">${msg`weight`}</th>
          <th scope="col"><span class="word-cached">v</span>[${dimension}]</th>
          <th scope="col">${msg`weight × v[${dimension}]`}</th>
        </tr>
      </thead>
      <tbody>
        <${RowKeys} run=${run} focus=${focus} weights=${softmax.weights} dispatch=${dispatch} cells=${cells} rest=${cellsOfRest} />
        ${
          softmax.first > 0 &&
          html`<tr class="is-masked">
            <th scope="row" colspan="6">
              ${plural(
                softmax.first,
                form`${integer(softmax.first)} earlier token is outside the window of this layer`,
                form`${integer(softmax.first)} earlier tokens are outside the window of this layer`,
              )}
            </th>
          </tr>`
        }
        ${
          softmax.masked > 0 &&
          html`<tr class="is-masked">
            <th scope="row" colspan="6">
              ${plural(
                softmax.masked,
                form`${integer(softmax.masked)} later token is masked`,
                form`${integer(softmax.masked)} later tokens are masked`,
              )}
            </th>
          </tr>`
        }
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">${msg`sum`}</th>
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
