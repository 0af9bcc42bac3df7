/** The dot product term by term: q and k over one another, each product a bar, one of them large, their sum, scaled. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { fixed } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { Dimensions } from "./dimensions.js";
import { bySize, runningTotals } from "./dot-product.js";
import { BARS_HEIGHT, TermBars, TOTALS_HEIGHT, TotalLine } from "./drawings.js";
import { Vector } from "./vector.js";

/**
 * @param {Object} props
 * @param {Object|null} props.pair as `dotProduct` gives it; null: not there yet
 * @param {number} props.headDim
 * @param {{query: string, key: string}} props.names labels of the two tokens
 * @param {string} props.note what is said while `pair` is not there
 */
export function Terms({ pair, headDim, names, note }) {
  const [wanted, setWanted] = useState(null);
  const [sorted, setSorted] = useState(false);
  const theme = useTheme();
  const sizes = useMemo(() => (pair ? bySize(pair.products) : null), [pair]);
  const order = useMemo(
    () => (sorted && sizes ? sizes : Array.from({ length: headDim }, (_, dimension) => dimension)),
    [sorted, sizes, headDim],
  );
  const totals = useMemo(() => (pair ? runningTotals(pair.products, order) : null), [pair, order]);
  const chosen = wanted ?? sizes?.[0] ?? 0;
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
        name: "sum so far",
        height: TOTALS_HEIGHT,
        draw: (parts) => totals && html`<${TotalLine} totals=${totals} ...${parts} />`,
      },
    ],
    [pair, totals, theme],
  );
  return html`<section class="pair-part box" aria-label="Dot product">
    <header class="line on-line between">
      <h3><i class="numeral">1</i> How well they fit: ${headDim} products, added up</h3>
      <button type="button" class="button is-choice small still" aria-pressed=${sorted} onClick=${() => setSorted(!sorted)}>
        Largest first
      </button>
    </header>
    <${Dimensions}
      name="Term of the dot product" text=${term ? termInWords(term) : note} lines=${lines} order=${order} chosen=${chosen}
      onChoose=${setWanted} entry=${true} below=${below}
    />
    ${term ? html`<${Term} term=${term} />` : html`<p class="term-large row on-line between is-waiting">${note}</p>`}
    ${pair && html`<${Scaled} pair=${pair} names=${names} />`}
  </section>`;
}

function termAt({ q, k, products }, totals, order, index) {
  return { index, q: q[index], k: k[index], product: products[index], total: totals[order.indexOf(index)] };
}

function termInWords({ index, q, k, product, total }) {
  const [left, right, result] = [q, k, product].map((value) => fixed(value, 2));
  return `i = ${index}: ${left} × ${right} = ${result}; sum so far ${fixed(total, 2)}`;
}

function Term({ term }) {
  const { index, q, k, product, total } = term;
  return html`<p class="term-large row on-line between">
    <span class="term-index">i = ${index}</span>
    <span class="term-sum nowrap">
      <span class="word-computed">${fixed(q, 2)}</span> × <span class="word-cached">${fixed(k, 2)}</span> =${" "}
      <b>${fixed(product, 2)}</b>
    </span>
    <span class="term-index">sum so far ${fixed(total, 2)}</span>
  </p>`;
}

function Scaled({ pair, names }) {
  const root = Math.sqrt(pair.headDim);
  const divisor = Number.isInteger(root) ? String(root) : fixed(root, 3);
  return html`<p class="scaled mono">
    <${Vector} name="q" of=${names.query} /> · <${Vector} name="k" of=${names.key} /> = <b>${fixed(pair.dot, 2)}</b>,${" "}
    ÷ √${pair.headDim} = ÷ ${divisor} → score <b>${fixed(pair.score, 2)}</b> <${Badge} origin="computed" />
    </p>
    <p class="pair-how muted small">
      Why ÷ √${pair.headDim}? A sum of more products comes out larger, whatever they say: about √${pair.headDim} times as large for
      ${" "}${pair.headDim} of them. Undivided, softmax would give nearly all to one key.
    </p>`;
}
