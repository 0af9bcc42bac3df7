/** The parts of which blocks of cells are made (table.js). Pure. */

import { msg } from "../shared/words/msg.js";

const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

/** @returns {string} as in "weights1:2:0" */
export const cellName = (block, row, column) => `${block}:${row}:${column}`;

/** A block without values. */
export function plain(name, title, note) {
  return { name, title, note, rows: [], columns: null, axis: null, tone: "plain", values: [], part: null };
}

/** The calculation of an input. */
export function given() {
  return { op: "given" };
}

/** The product of a row of one block and a column of another. */
export function dot(left, row, right, column, count) {
  return {
    op: "dot",
    terms: numbered(count).map((_, at) => [cellName(left, row, at), cellName(right, at, column)]),
  };
}

/** @returns {string[]} small numbers from 1, as headings of rows */
export function numbered(count) {
  return Array.from({ length: count }, (_, at) => subscript(at + 1));
}

function subscript(number) {
  return [...String(number)].map((digit) => SUBSCRIPTS[digit]).join("");
}

/** @returns {string} */
export function weightLabel(name, head, row, column) {
  return head === null
    ? msg`${name}, row ${row}, column ${column}`
    : msg`${name} of head ${head}, row ${row}, column ${column}`;
}
