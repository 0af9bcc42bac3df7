/**
 * A worked example as blocks of cells, each cell with its calculation. Pure.
 *
 * A cell is named by its block, row and column, as in "weights1:2:0". The engine computed every value, except that the
 * page transposes K, repeats V, concatenates the heads, divides the logits by the temperature and computes the roots that norms
 * divide by; and the parts of the attention output, head by head, are multiplied from the engine's numbers.
 *
 * @typedef {{op: "softmax", of: string, row: string[]}} Softmax
 * @typedef {{op: "given"}
 *   | {op: "copy", of: string}
 *   | {op: "sum", terms: string[]}
 *   | {op: "dot", terms: [string, string][]}
 *   | {op: "divide", of: string, by: number, sign: string}
 *   | {op: "mask", of: string, hidden: boolean}
 *   | {op: "rms", terms: string[], eps: number}
 *   | {op: "ratio", of: string, by: string}
 *   | {op: "swiglu", gate: string, up: string}
 *   | Softmax} Calculation
 * @typedef {{name: string, title: string, note: string, rows: string[], columns: string[]|null, axis: "rows"|"columns"|null,
 *   tone: "input"|"plain"|"cached"|"weights"|"output", values: (number|null)[][], part: Part|null, shares?: true, label: (row: number, column: number) => string,
 *   of: (row: number, column: number) => Calculation}} Block `title`: _ precedes a subscript, ^ a superscript; `axis`: the side that lists the tokens; a null value: the cell does not exist; `shares`: each row adds up to 1
 * @typedef {{name: string, at: (row: number, column: number) => [number, number]}} Part the input of the example that a block shows
 * @typedef {{sign: string, over: Block|null, under: Block}} Column
 */

import { unhandled } from "../shared/facts/unhandled.js";
import { cellName } from "./blocks.js";
import { endOf } from "./end-lines.js";
import { headOf, startOf, xOf } from "./head-lines.js";
import { normBefore } from "./rest-of-block.js";

/** @returns {{block: string, row: number, column: number}} */
export function placeOf(name) {
  const [block, row, column] = name.split(":");
  return { block, row: Number(row), column: Number(column) };
}

/**
 * @param {Object} answer of /api/by-hand (docs/frames.md, By hand)
 * @returns {{blocks: Object<string, Block>, lines: {title: string, columns: Column[]}[], words: string[], prompt: number, whole: boolean}}
 *   `whole`: the example has norms, a residual stream and an MLP; `words`: the tokens of the prompt and the next one; `prompt`: the number of tokens in the prompt
 */
export function tableOf(answer) {
  const { example } = answer;
  const ids = [...example.prompt, answer.token];
  const parts = { answer, example, ids, words: ids.map((id) => example.words[id]), prompt: example.prompt.length };
  const x = xOf(parts);
  const norm = normBefore(parts, x);
  const heads = answer.prefill.q.map((_, head) => headOf(parts, head, norm?.read ?? x));
  const lines = [...startOf(parts, x), ...(norm ? [norm.line] : []), ...heads, ...endOf(parts, x)];
  const all = lines.flatMap(({ columns }) => columns.flatMap(({ over, under }) => (over ? [over, under] : [under])));
  return {
    lines,
    words: parts.words,
    prompt: parts.prompt,
    whole: norm !== null,
    blocks: Object.fromEntries(all.map((each) => [each.name, each])),
  };
}

/**
 * @param {Calculation} calculation
 * @returns {string[]} the operands of a cell
 */
export function operandsOf(calculation) {
  switch (calculation.op) {
    case "copy":
    case "divide":
    case "mask":
      return [calculation.of];
    case "sum":
    case "rms":
      return calculation.terms;
    case "ratio":
      return [calculation.of, calculation.by];
    case "swiglu":
      return [calculation.gate, calculation.up];
    case "dot":
      return calculation.terms.flat();
    case "softmax":
      return calculation.row;
    case "given":
      return [];
    default:
      return unhandled(calculation);
  }
}

/** @returns {number|null} the value of a cell; null if there is none */
export function numberIn(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block]?.values[row]?.[column] ?? null;
}

/** @returns {Calculation} */
export function calculationOf(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].of(row, column);
}

/** @returns {string} */
export function cellLabel(table, name) {
  const { block, row, column } = placeOf(name);
  return table.blocks[block].label(row, column);
}

/** @returns {string[]} all cells that have a value, in the order of the page */
export function cellsOf(table) {
  return Object.values(table.blocks).flatMap(({ name, values }) =>
    values.flatMap((row, r) => row.flatMap((value, c) => (value === null ? [] : [cellName(name, r, c)]))),
  );
}

/** @returns {string[]} the cells that have this one as an operand */
export function usesOf(table, name) {
  return cellsOf(table).filter((each) => operandsOf(calculationOf(table, each)).includes(name));
}

/**
 * The kind of a cell in prefill, or in the decode step after it.
 *
 * @param {"prefill"|"decode"} phase
 * @returns {"absent"|"masked"|"input"|"cached"|"computed"|"past"} `past`: computed by an earlier pass and not stored
 */
export function kindOf(table, name, phase) {
  const { block, row, column } = placeOf(name);
  const { axis, values, part, tone } = table.blocks[block];
  const token = axis === "columns" ? column : row;
  if (values[row][column] === null) return "absent";
  if (axis && token >= table.prompt && phase === "prefill") return "absent";
  if (values[row][column] === Number.NEGATIVE_INFINITY || isBehindMask(table, name)) return "masked";
  if (part) return "input";
  if (phase === "prefill" || token >= table.prompt) return "computed";
  return tone === "cached" ? "cached" : "past";
}

function isBehindMask(table, name) {
  const { block, row, column } = placeOf(name);
  return block.startsWith("weights") && row < table.prompt && column > row;
}
