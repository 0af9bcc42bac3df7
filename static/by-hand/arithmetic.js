/** The arithmetic of one cell, with its numbers in it: each of them leads to its own. */

import { html } from "htm/preact";
import { cellText } from "./numbers.js";
import { kindOf, numberIn, sayCell, workingOf } from "./table.js";

/** Beyond it e to the power of a score has no room: the largest is subtracted from all, which leaves the shares as they are. */
const LARGEST_POWER = 12;

/** A number in a sum. `boxed`: the one that is spoken of. */
export function Figure({ name, boxed = false, shown, actions }) {
  const secret = shown.hidden.has(name);
  const text = secret ? "?" : cellText(numberIn(shown.table, name));
  const kind = kindOf(shown.table, name, shown.moment);
  return html`<button
    type="button" class=${`figure mono is-${kind}${boxed ? " is-boxed" : ""}`} onClick=${() => actions.select(name)}
    aria-label=${`${sayCell(shown.table, name)}: ${secret ? "hidden" : text}`}
  >${text}</button>`;
}

/** One line: the sum, and what it gives. `boxed`: a number in it, or its result. */
export function Sum({ name, boxed, shown, actions }) {
  const working = workingOf(shown.table, name);
  const figure = (each) => html`<${Figure} name=${each} boxed=${each === boxed} shown=${shown} actions=${actions} />`;
  return html`<p class="sum">${termsOf(working, figure)} <span class="nowrap">= ${figure(name)}</span></p>`;
}

function termsOf(working, figure) {
  switch (working.op) {
    case "dot":
      return working.terms.map(
        ([left, right], at) => html`<span class="nowrap">${at > 0 && "+ "}${figure(left)} × ${figure(right)}</span> `,
      );
    case "sum":
      return html`${figure(working.terms[0])} + ${figure(working.terms[1])}`;
    case "divide":
      return working.sign
        ? html`${figure(working.of)} ÷ ${working.sign} = ${figure(working.of)} ÷ ${cellText(working.by)}`
        : html`${figure(working.of)} ÷ ${cellText(working.by)}`;
    case "softmax":
      return html`e<sup>${figure(working.of)}</sup> ÷ (${working.row.map(
        (each, at) => html`<span class="nowrap">${at > 0 && " + "}e<sup>${figure(each)}</sup></span>`,
      )})`;
    default:
      return figure(working.of);
  }
}

/**
 * A share of a softmax as a fraction that is worked out step by step, and all shares of its row as one bar.
 *
 * @param {{name: string, working: import("./table.js").Softmax, shown: Object, actions: Object}} props
 */
export function Fraction({ name, working, shown, actions }) {
  const { table, hidden } = shown;
  const scores = working.row.map((each) => numberIn(table, each));
  const largest = Math.max(...scores);
  const shift = Math.max(...scores.map(Math.abs)) > LARGEST_POWER ? largest : 0;
  const power = (each) => Math.exp(numberIn(table, each) - shift);
  const total = working.row.reduce((sum, each) => sum + power(each), 0);
  const exponent = (each) =>
    html`e<sup><${Figure} name=${each} boxed=${each === working.of} shown=${shown} actions=${actions} />${shift !== 0 && ` − ${cellText(shift)}`}</sup>`;
  const parts = [
    [exponent(working.of), joined(working.row.map(exponent))],
    [cellText(power(working.of)), joined(working.row.map((each) => cellText(power(each))))],
    [cellText(power(working.of)), cellText(total)],
  ];
  const secret = hidden.has(name);
  return html`<div class="fractions row across">
      ${parts.map(
        ([top, bottom], at) => html`${at > 0 && html`<span class="fraction-is">=</span>`}
          <span class="fraction"><span>${top}</span><span class="visually-hidden"> divided by </span><span>${bottom}</span></span>`,
      )}
      <span class="fraction-is">=</span><strong class="fraction-end">${secret ? "?" : cellText(numberIn(table, name))}</strong>
    </div>
    ${shift !== 0 && html`<p class="muted is-wide">The largest score, ${cellText(shift)}, is subtracted from all first, as the engine does: the shares stay the same, and e to its power has room.</p>`}
    ${!secret && !working.row.some((each) => hidden.has(each)) && html`<${Shares} name=${name} working=${working} shown=${shown} actions=${actions} />`}`;
}

function joined(parts) {
  return parts.map((part, at) => html`<span class="nowrap">${at > 0 && " + "}${part}</span>`);
}

/** One whole, shared out. */
function Shares({ name, working, shown, actions }) {
  const { table, hidden } = shown;
  const [block, row] = name.split(":");
  const { columns, values } = table.blocks[block];
  const cells = working.row.map((each) => {
    const column = Number(each.split(":")[2]);
    return { name: `${block}:${row}:${column}`, word: columns[column], share: values[Number(row)][column] };
  });
  if (cells.some((each) => hidden.has(each.name))) return null;
  const written = cells.reduce((sum, { share }) => sum + Number(share.toFixed(3)), 0).toFixed(3);
  return html`<div class="shares-of-row"><div class="shares">
      ${cells.map(
        (each) => html`<button
          key=${each.name} type="button" class=${each.name === name ? "is-selected" : ""} style=${{ flexGrow: Math.max(each.share, 0.002) }}
          aria-label=${`${sayCell(table, each.name)}: ${cellText(each.share)}`} onClick=${() => actions.select(each.name)}
        ><bdi>${each.word}</bdi> ${cellText(each.share)}</button>`,
      )}
    </div>
    <p class="muted">One whole, shared out.${written !== "1.000" && ` The printed shares add to ${written} because each is rounded to three decimals.`}</p></div>`;
}
