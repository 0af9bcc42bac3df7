/** The arithmetic of one cell with its numbers. A click on a number opens the arithmetic of that number. */

import { html } from "htm/preact";
import { unhandled } from "../shared/facts/unhandled.js";
import { msg } from "../shared/words/msg.js";
import { cellText } from "./numbers.js";
import { otherResult } from "./rounded.js";
import { calculationOf, cellLabel, kindOf, numberIn, operandsOf } from "./table.js";

/**
 * Above this score a power of e has too many digits. The page then subtracts the largest score from all, which does not
 * change the result.
 */
const LARGEST_POWER = 12;

/** A number in a sum. `boxed`: the number that the panel is about. */
export function Figure({ name, boxed = false, shown, actions }) {
  const secret = shown.hidden.has(name);
  const text = secret ? "?" : cellText(numberIn(shown.table, name));
  const kind = kindOf(shown.table, name, shown.phase);
  return html`<button
    type="button" class="figure mono is-${kind} ${boxed ? "is-boxed" : ""}" onClick=${() => actions.select(name)}
    aria-label=${`${cellLabel(shown.table, name)}: ${secret ? msg`hidden` : text}`}
  >${text}</button>`;
}

/** A sum and its result on one line. `boxed`: the cell, an operand or the result, that gets a box. */
export function Sum({ name, boxed, shown, actions }) {
  const calculation = calculationOf(shown.table, name);
  const figure = (each) => html`<${Figure} name=${each} boxed=${each === boxed} shown=${shown} actions=${actions} />`;
  return html`<p class="sum">${termsOf(calculation, figure)} <span class="nowrap">= ${figure(name)}</span></p>`;
}

/** A sentence if the rounded numbers do not give the result, because the page computes with unrounded ones. */
export function RoundedFirst({ name, shown: { table, hidden } }) {
  if ([name, ...operandsOf(calculationOf(table, name))].some((each) => hidden.has(each))) return null;
  const result = otherResult(table, name);
  if (result === null) return null;
  return html`<p class="muted">${msg`The page computes with numbers that are not rounded. With the rounded ones shown, the result is ${result}.`}</p>`;
}

/** @param {import("./table.js").Calculation} calculation */
function termsOf(calculation, figure) {
  switch (calculation.op) {
    case "dot":
      return calculation.terms.map(
        ([left, right], at) => html`<span class="nowrap">${at > 0 && "+ "}${figure(left)} × ${figure(right)}</span> `,
      );
    case "sum":
      return html`${figure(calculation.terms[0])} + ${figure(calculation.terms[1])}`;
    case "divide":
      return calculation.sign
        ? html`${figure(calculation.of)} ÷ ${calculation.sign} = ${figure(calculation.of)} ÷ ${cellText(calculation.by)}`
        : html`${figure(calculation.of)} ÷ ${cellText(calculation.by)}`;
    case "softmax":
      return html`e<sup>${figure(calculation.of)}</sup> ÷ (${calculation.row.map(
        (each, at) => html`<span class="nowrap">${at > 0 && " + "}e<sup>${figure(each)}</sup></span>`,
      )})`;
    case "rms":
      return html`√( (${calculation.terms.map(
        (each, at) => html`<span class="nowrap">${at > 0 && " + "}(${figure(each)})²</span>`,
      )}) ÷ ${calculation.terms.length} + ${calculation.eps} )`;
    case "ratio":
      return html`${figure(calculation.of)} ÷ ${figure(calculation.by)}`;
    case "swiglu": {
      const gate = figure(calculation.gate);
      return html`${gate} ÷ (1 + e<sup>−(${gate})</sup>) × ${figure(calculation.up)}`;
    }
    case "copy":
    case "mask":
      return figure(calculation.of);
    case "given":
      return null;
    default:
      return unhandled(calculation);
  }
}

/**
 * A value of a softmax as a fraction, calculated step by step, and all values of its row as one bar.
 *
 * @param {{name: string, calculation: import("./table.js").Softmax, shown: Object, actions: Object}} props
 */
export function Fraction({ name, calculation, shown, actions }) {
  const { table, hidden } = shown;
  const scores = calculation.row.map((each) => numberIn(table, each));
  const largest = Math.max(...scores);
  const shift = Math.max(...scores.map(Math.abs)) > LARGEST_POWER ? largest : 0;
  const power = (each) => Math.exp(numberIn(table, each) - shift);
  const total = calculation.row.reduce((sum, each) => sum + power(each), 0);
  const exponent = (each) =>
    html`e<sup><${Figure} name=${each} boxed=${each === calculation.of} shown=${shown} actions=${actions} />${shift !== 0 && ` − ${cellText(shift)}`}</sup>`;
  const parts = [
    [exponent(calculation.of), joined(calculation.row.map(exponent))],
    [cellText(power(calculation.of)), joined(calculation.row.map((each) => cellText(power(each))))],
    [cellText(power(calculation.of)), cellText(total)],
  ];
  const secret = hidden.has(name);
  return html`<div class="fractions row across">
      ${parts.map(
        ([top, bottom], at) => html`${at > 0 && html`<span class="fraction-is">=</span>`}
          <span class="fraction"><span>${top}</span><span class="visually-hidden"> ${msg`divided by`} </span><span>${bottom}</span></span>`,
      )}
      <span class="fraction-is">=</span><strong class="fraction-end">${secret ? "?" : cellText(numberIn(table, name))}</strong>
    </div>
    ${shift !== 0 && html`<p class="muted is-wide">${msg`As in the engine, the largest score, ${cellText(shift)}, is first subtracted from all scores. This keeps the powers of e small and does not change the result.`}</p>`}
    ${!secret && !calculation.row.some((each) => hidden.has(each)) && html`<${Shares} name=${name} calculation=${calculation} shown=${shown} actions=${actions} />`}`;
}

function joined(parts) {
  return parts.map((part, at) => html`<span class="nowrap">${at > 0 && " + "}${part}</span>`);
}

/** The values of a row as one bar. */
function Shares({ name, calculation, shown, actions }) {
  const { table, hidden } = shown;
  const [block, row] = name.split(":");
  const { columns, values } = table.blocks[block];
  const cells = calculation.row.map((each) => {
    const column = Number(each.split(":")[2]);
    return { name: `${block}:${row}:${column}`, word: columns[column], share: values[Number(row)][column] };
  });
  if (cells.some((each) => hidden.has(each.name))) return null;
  const written = cells.reduce((sum, { share }) => sum + Number(share.toFixed(3)), 0).toFixed(3);
  return html`<div class="shares-of-row"><div class="shares">
      ${cells.map(
        (each) => html`<button
          key=${each.name} type="button" class=${each.name === name ? "is-selected" : ""} style=${{ flexGrow: Math.max(each.share, 0.002) }}
          aria-label=${`${cellLabel(table, each.name)}: ${cellText(each.share)}`} onClick=${() => actions.select(each.name)}
        ><bdi>${each.word}</bdi> ${cellText(each.share)}</button>`,
      )}
    </div>
    <p class="muted">${msg`The values add up to 1.`}${written !== "1.000" && ` ${msg`Rounded to three decimals, they add up to ${written}.`}`}</p></div>`;
}
