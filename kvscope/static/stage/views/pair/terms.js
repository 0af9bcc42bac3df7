/** The dot product term by term: q above k, a bar for each product, one term in large type, the sum and the score. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { fixed } from "../../../shared/facts/format.js";
import { cappedText } from "../../../shared/log/model.js";
import { Badge } from "../../../shared/ui/badge.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { msg, nodes } from "../../../shared/words/msg.js";
import { Dimensions } from "./dimensions.js";
import { bySize, runningTotals } from "./dot-product.js";
import { BARS_HEIGHT, TermBars, TOTALS_HEIGHT, TotalLine } from "./drawings.js";
import { Vector } from "./vector.js";

/**
 * @param {Object} props
 * @param {Object|null} props.pair as `dotProduct` gives it; null: not loaded yet
 * @param {number} props.headDim
 * @param {number} props.scoreWidth the score is the sum divided by the root of it
 * @param {number|undefined} props.scoreCap of the model's scores, if it caps them
 * @param {{query: string, key: string}} props.names labels of the two tokens
 * @param {string} props.note shown while `pair` is null
 */
export function Terms({ pair, headDim, scoreWidth, scoreCap, names, note }) {
  const [selected, setSelected] = useState(null);
  const [sorted, setSorted] = useState(false);
  const theme = useTheme();
  const sizes = useMemo(() => (pair ? bySize(pair.products) : null), [pair]);
  const order = useMemo(
    () => (sorted && sizes ? sizes : Array.from({ length: headDim }, (_, dimension) => dimension)),
    [sorted, sizes, headDim],
  );
  const totals = useMemo(() => (pair ? runningTotals(pair.products, order) : null), [pair, order]);
  const chosen = selected ?? sizes?.[0] ?? 0;
  const term = pair && termAt(pair, totals, order, chosen);
  const lines = [
    { name: html`<${Vector} name="q" of=${names.query} />`, values: pair?.q ?? null },
    { name: html`<${Vector} name="k" of=${names.key} />`, values: pair?.k ?? null },
  ];
  const below = useMemo(
    () => [
      {
        name: "q × k",
        height: BARS_HEIGHT,
        draw: (parts) => pair && html`<${TermBars} values=${pair.products} theme=${theme} ...${parts} />`,
      },
      {
        name: msg`running sum`,
        height: TOTALS_HEIGHT,
        draw: (parts) => totals && html`<${TotalLine} totals=${totals} ...${parts} />`,
      },
    ],
    [pair, totals, theme],
  );
  return html`<section class="pair-part box" data-names="pair-dot" aria-label=${msg`Dot product`}>
    <header class="line on-line between">
      <h3><i class="numeral">1</i> ${msg`How well q and k match: the sum of ${headDim} products`}</h3>
      <button type="button" class="button is-choice small still" aria-pressed=${sorted} onClick=${() => setSorted(!sorted)}>
        ${msg`Largest first`}
      </button>
    </header>
    <${Dimensions}
      name=${msg`Term of the dot product`} text=${term ? termText(term) : note} lines=${lines} order=${order} chosen=${chosen}
      onChoose=${setSelected} entry=${true} below=${below}
    />
    ${term ? html`<${Term} term=${term} />` : html`<p class="term-large row on-line between is-waiting">${note}</p>`}
    ${pair && html`<${Scaled} pair=${pair} scoreWidth=${scoreWidth} cap=${scoreCap} names=${names} />`}
  </section>`;
}

function termAt({ q, k, products }, totals, order, index) {
  return { index, q: q[index], k: k[index], product: products[index], total: totals[order.indexOf(index)] };
}

function termText({ index, q, k, product, total }) {
  const [left, right, result] = [q, k, product].map((value) => fixed(value, 2));
  return msg`i = ${index}: ${left} × ${right} = ${result}; running sum ${fixed(total, 2)}`;
}

function Term({ term }) {
  const { index, q, k, product, total } = term;
  return html`<p class="term-large row on-line between">
    <span class="term-index">i = ${index}</span>
    <span class="term-sum nowrap">
      <span class="word-computed">${fixed(q, 2)}</span> × <span class="word-cached">${fixed(k, 2)}</span> =${" "}
      <b>${fixed(product, 2)}</b>
    </span>
    <span class="term-index">${msg`running sum ${fixed(total, 2)}`}</span>
  </p>`;
}

function Scaled({ pair, scoreWidth, cap, names }) {
  const root = Math.sqrt(scoreWidth);
  const score = html`<b>${fixed(pair.score, 2)}</b>`;
  const uncapped = fixed(pair.dot / root, 2);
  const divisor = Number.isInteger(root) ? String(root) : fixed(root, 3);
  return html`<p class="scaled mono">
    <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> = <b>${fixed(pair.dot, 2)}</b>,${" "}
    ÷ √${scoreWidth} = ÷ ${divisor} → ${cap && html`<b>${uncapped}</b>, ${cappedText(uncapped, cap)} → `}${nodes`score ${score}`} <${Badge} origin="computed" />
    </p>
    <p class="pair-how muted small">
      ${msg`Why ÷ √${scoreWidth}? A sum of ${pair.headDim} independent products is about √${pair.headDim} times as large as one product.`}
      ${" "}${msg`Scores ${divisor} times as large would give the largest of them a larger share.`}
      ${cap && ` ${msg`This model also caps its scores: each stays between −${cap} and ${cap}.`}`}
    </p>`;
}
