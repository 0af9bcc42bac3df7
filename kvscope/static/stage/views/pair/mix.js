/** The second half of attention for one query: the weight of each key, and the weighted sum of V that is the head's output. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, fixed, integer, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { form, msg, nodes, plural } from "../../../shared/words/msg.js";
import { attentionRow, mixAt } from "./attention-row.js";
import { Dimensions } from "./dimensions.js";
import { bySize } from "./dot-product.js";
import { RowTable } from "./row-table.js";
import { Vector } from "./vector.js";

/**
 * @param {{run: Object, focus: Object, values: Object, row: number, pair: Object, names: Object, stored: boolean,
 *   dispatch: Function}} props `values`: the head's exact values; `pair`: of `dotProduct`;
 *   `stored`: only q, k and v come from the model; the page computed the rest from them
 */
export function Mix({ run, focus, values, row, pair, names, stored, dispatch }) {
  const { layer, query } = focus;
  const first = run.firstKey(layer, query);
  const [selected, setSelected] = useState(null);
  const largest = useMemo(() => bySize(pair.v)[0], [pair]);
  const dimension = selected ?? largest;
  const softmax = useMemo(() => attentionRow(values, { row, query, first }), [values, row, query, first]);
  const mix = useMemo(() => mixAt(values, { row, query }, dimension), [values, row, query, dimension]);
  const order = useMemo(() => Array.from(pair.v, (_, place) => place), [pair.headDim]);
  const difference = stored && fixed(differenceFromLog(run, focus, softmax.weights), 4);
  const lines = [
    { name: html`<${Vector} name="v" of=${names.key} />`, values: pair.v },
    { name: html`<span class="word-output">${msg`output`}</span>`, values: pair.output },
  ];
  const value = fixed(pair.v[dimension], 3);
  const weight = html`<b class="word-output">${bounded(pair.weight, 3)}</b>`;
  const sum = html`<b class="word-output">${fixed(mix.sum, 4)}</b>`;
  const output = html`<b class="word-output">${fixed(mix.output, 4)}</b>`;
  return html`<section class="pair-part box" data-names="pair-mix" aria-label=${msg`Softmax and weighted sum`}>
    <h3><i class="numeral">2</i> ${plural(
      softmax.keys,
      form`Softmax over ${integer(softmax.keys)} key, and the weighted sum of V`,
      form`Softmax over ${integer(softmax.keys)} keys, and the weighted sum of V`,
    )} <${Badge} origin="computed" /></h3>
    <p class="pair-how muted small">
      ${msg`Softmax turns the scores into weights with a sum of 1. Each key's v is multiplied by its weight.`}
      ${" "}${msg`The sum over all keys is the head's output: ${pair.headDim} numbers. Choose one of them:`}
    </p>
    <${Dimensions}
      name=${msg`Dimension of the output`} text=${msg`i = ${dimension}: v ${value}, output ${fixed(mix.output, 4)}`} lines=${lines} order=${order} chosen=${dimension} onChoose=${setSelected}
    />
    <${RowTable} run=${run} focus=${focus} softmax=${softmax} mix=${mix} dimension=${dimension} dispatch=${dispatch} />
    <p class="mix-line">
      ${softmax.keys > 1 ? nodes`${weight} × ${value} plus the products of the other keys is ${sum}.` : nodes`${weight} × ${value} is ${sum}.`}
      ${!stored && [" ", nodes`The engine's output[${dimension}] is ${output}.`]} <${Badge} origin="computed" />
    </p>
    <p class="pair-how muted small">
      ${
        stored
          ? [
              msg`q, k and v are stored with this session. The page computes scores, weights and output from them.`,
              " ",
              msg`These weights differ from the 8-bit weights in the log by at most ${difference}.`,
            ]
          : msg`The page repeats the arithmetic: it differs by at most ${withExponent(softmax.difference)} in a weight and ${withExponent(mix.difference)} in the output (float32 rounding).`
      }
    </p>
  </section>`;
}

/** @returns {number} the largest difference between a row's weights and those in the log */
function differenceFromLog(run, { layer, head, query }, weights) {
  return weights.reduce(
    (most, weight, key) => Math.max(most, Math.abs(weight - (run.weight(layer, head, query, key) ?? 0))),
    0,
  );
}
