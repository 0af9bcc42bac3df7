/** The second half of attention for one query: the share each key gets, and the mix of V that leaves the head. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { bounded, counted, fixed, withExponent } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { attentionRow, mixAt } from "./attention-row.js";
import { Dimensions } from "./dimensions.js";
import { bySize } from "./dot-product.js";
import { RowTable } from "./row-table.js";
import { Vector } from "./vector.js";

/**
 * @param {{run: Object, focus: Object, values: Object, row: number, pair: Object, names: Object, stored: boolean,
 *   dispatch: Function}} props `values`: the head's exact values, and `dotProduct` of the
 *   chosen pair; `stored`: only q, k and v are the model's own, and the rest is made of them
 */
export function Mix({ run, focus, values, row, pair, names, stored, dispatch }) {
  const { query } = focus;
  const [wanted, setWanted] = useState(null);
  const largest = useMemo(() => bySize(pair.v)[0], [pair]);
  const dimension = wanted ?? largest;
  const softmax = useMemo(() => attentionRow(values, { row, query }), [values, row, query]);
  const mix = useMemo(() => mixAt(values, { row, query }, dimension), [values, row, query, dimension]);
  const order = useMemo(() => Array.from(pair.v, (_, place) => place), [pair.headDim]);
  const lines = [
    { name: html`<${Vector} name="v" of=${names.key} />`, values: pair.v },
    { name: html`<span class="word-output">output</span>`, values: pair.output },
  ];
  const text = `i = ${dimension}: v ${fixed(pair.v[dimension], 3)}, output ${fixed(mix.output, 4)}`;
  return html`<section class="pair-part box" aria-label="Softmax and mix">
    <h3><i class="numeral">2</i> Its share among ${counted(softmax.keys, "key")}, and the V it brings <${Badge} origin="computed" /></h3>
    <p class="pair-how muted small">
      Softmax turns the scores into shares of 1. Each key's V is multiplied by its share, and the sum is the head's
      output: ${pair.headDim} numbers. Choose one of them:
    </p>
    <${Dimensions}
      name="Number of the output" text=${text} lines=${lines} order=${order} chosen=${dimension} onChoose=${setWanted}
    />
    <${RowTable} run=${run} focus=${focus} softmax=${softmax} mix=${mix} dimension=${dimension} dispatch=${dispatch} />
    <p class="mix-line">
      <b class="word-output">${bounded(pair.weight, 3)}</b> × ${fixed(pair.v[dimension], 3)}${" "}
      ${softmax.keys > 1 ? "and the other keys' parts add up to" : "is"}${" "}
      <b class="word-output">${fixed(mix.sum, 4)}</b>${
        !stored && html`. The model's own output[${dimension}]:${" "}<b class="word-output">${fixed(mix.output, 4)}</b>`
      } <${Badge} origin="computed" />
    </p>
    <p class="pair-how muted small">
      ${
        stored
          ? html`q, k and v are the model's own, stored with this session; scores, shares and output are computed from them
              here. These shares and those in the run's log, which has them in 8 bits, differ by at most${" "}
              ${fixed(unlikeLog(run, focus, softmax.weights), 4)}.`
          : html`The same arithmetic done here again differs by at most ${withExponent(softmax.difference)} in a weight
              and ${withExponent(mix.difference)} in the output: float32 rounding.`
      }
    </p>
  </section>`;
}

/** @returns {number} the largest difference between a row's weights and those in the log */
function unlikeLog(run, { layer, head, query }, weights) {
  return weights.reduce(
    (most, weight, key) => Math.max(most, Math.abs(weight - run.weight(layer, head, query, key))),
    0,
  );
}
