/** A query's whole row: the score of each key, its softmax and weight, and the term it adds to one dimension of the output. */

import { html } from "htm/preact";
import { bounded, fixed, integer } from "../../../shared/facts/format.js";
import { Table } from "../../../shared/ui/table.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { total } from "./attention-row.js";
import { useRowKeys, weightCell } from "./row-keys.js";

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
  const keyRows = useRowKeys(
    { run, focus, weights: softmax.weights, dispatch },
    (key) => [
      fixed(softmax.scores[key], 2),
      bounded(softmax.powers[key], 3),
      weightCell(softmax.weights[key]),
      fixed(mix.values[key], 3),
      bounded(mix.parts[key], 4),
    ],
    (rest) => [
      "",
      bounded(sum(softmax.powers, rest), 3),
      bounded(sum(softmax.weights, rest), 3),
      "",
      bounded(sum(mix.parts, rest), 4),
    ],
  );
  const output = (value) => html`<td class="word-output">${value}</td>`;
  return html`<${Table} name=${msg`The row of this query`} kind="row-table small"
    columns=${[
      { head: msg`key` },
      { head: msg`score` },
      { head: msg`exp(score − max)`, title: msg`The largest score of this row is ${fixed(softmax.max, 2)}` },
      { head: msg`weight` },
      { head: html`<span class="word-cached">v</span>[${dimension}]` },
      { head: msg`weight × v[${dimension}]` },
    ]}
    rows=${[
      ...keyRows,
      softmax.first > 0 && {
        key: "outside",
        kind: "is-masked",
        says: plural(
          softmax.first,
          form`${integer(softmax.first)} earlier token is outside the window of this layer`,
          form`${integer(softmax.first)} earlier tokens are outside the window of this layer`,
        ),
      },
      softmax.masked > 0 && {
        key: "masked",
        kind: "is-masked",
        says: plural(
          softmax.masked,
          form`${integer(softmax.masked)} later token is masked`,
          form`${integer(softmax.masked)} later tokens are masked`,
        ),
      },
      {
        key: "sum",
        head: msg`sum`,
        cells: ["", fixed(softmax.powerSum, 3), output(fixed(softmax.weightSum, 3)), "", output(fixed(mix.sum, 4))],
        kind: "is-sum",
      },
    ]}
  />`;
}
