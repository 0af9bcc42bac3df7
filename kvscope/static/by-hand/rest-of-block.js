/** The norms, the residual stream and the MLP of an example that has them, with the calculation of each number. Pure. */

import { msg } from "../shared/words/msg.js";
import { cellName, dot, given, numbered, plain, weightLabel } from "./blocks.js";

/** The rows of a value in both passes. */
const rowsOf = ({ answer: { prefill, decode } }, name) => [...prefill.rest[name], ...decode.rest[name]];

/**
 * @param {Object} parts of `tableOf`
 * @param {Object} x the rows that enter the block
 * @returns {{read: Object, line: Object}|null} `read`: the normed rows, which the heads read; null without a norm
 */
export function normBefore(parts, x) {
  if (!parts.answer.prefill.rest) return null;
  const columns = normColumns(parts, "attn", x, rowsOf(parts, "normed"));
  return {
    read: columns[1].under,
    line: { title: msg`Norm before attention`, columns: [{ sign: "", over: null, under: x }, ...columns] },
  };
}

/**
 * Returns what follows the attention output.
 *
 * @param {Object} parts of `tableOf`
 * @param {Object} x
 * @param {Object} output of attention
 * @returns {{lines: Object[], read: Object}} `read`: the block that the LM head reads
 */
export function restOf(parts, x, output) {
  const { words, prompt } = parts;
  const stream = (name, title, note, terms) => ({
    ...plain(name, title, note),
    ...{ rows: words, axis: "rows", values: rowsOf(parts, name) },
    label: (row, column) => msg`${title} of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => ({ op: "sum", terms: terms.map((each) => cellName(each, row, column)) }),
  });
  const mid = stream("mid", msg`residual stream`, msg`X + attention output`, ["x", "output"]);
  const change = { ...product(parts, "change", msg`MLP output`, "hidden", "w_down"), tone: "output" };
  const out = {
    ...stream("out", msg`output of the block`, msg`residual stream + MLP output`, ["mid", "change"]),
    tone: "output",
  };
  const [first, last] = [parts.answer.prefill, parts.answer.decode].map(({ rest }) => rest.final[0]);
  const final = words.map((_, row) => (row < prompt - 1 ? first.map(() => null) : row < prompt ? first : last));
  const again = [
    { sign: "", over: null, under: mid },
    { sign: "+", over: null, under: change },
    { sign: "=", over: null, under: out },
    ...normColumns(parts, "final", out, final),
  ];
  return {
    lines: [
      {
        title: msg`Into the residual stream`,
        columns: [
          { sign: "", over: null, under: x },
          { sign: "+", over: null, under: output },
          { sign: "=", over: null, under: mid },
        ],
      },
      { title: msg`MLP: each row alone`, columns: mlpColumns(parts, mid, change) },
      { title: msg`Into the residual stream again, and the last norm`, columns: again },
    ],
    read: again.at(-1).under,
  };
}

function mlpColumns(parts, mid, change) {
  const { words } = parts;
  const hidden = {
    ...plain("hidden", msg`hidden`, msg`silu(gate) × up`),
    ...{ rows: words, axis: "rows", values: rowsOf(parts, "hidden") },
    label: (row, column) => msg`Hidden value of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => ({ op: "swiglu", gate: cellName("gate", row, column), up: cellName("up", row, column) }),
  };
  return [
    { sign: "", over: null, under: mid },
    ...normColumns(parts, "mlp", mid, rowsOf(parts, "mlp_normed")),
    { sign: "×", over: weights(parts, "w_gate"), under: product(parts, "gate", msg`gate`, "mlp_normed", "w_gate") },
    { sign: "", over: weights(parts, "w_up"), under: product(parts, "up", msg`up`, "mlp_normed", "w_up") },
    { sign: "silu ×", over: null, under: hidden },
    { sign: "×", over: weights(parts, "w_down"), under: change },
  ];
}

const TITLES = { w_gate: "W_gate", w_up: "W_up", w_down: "W_down" };

function weights({ example }, name) {
  return {
    ...plain(name, TITLES[name], ""),
    ...{ rows: numbered(example.parts[name].length), tone: "weights", values: example.parts[name], of: given },
    part: { name, at: (row, column) => [row, column] },
    label: (row, column) => weightLabel(TITLES[name], null, row + 1, column + 1),
  };
}

/** A block whose rows are those of another times a matrix of weights. */
function product(parts, name, title, of, matrix) {
  const { words, example } = parts;
  return {
    ...plain(name, title, ""),
    ...{ rows: words, axis: "rows", values: rowsOf(parts, name) },
    label: (row, column) => msg`${title} of “${words[row]}”, number ${column + 1}`,
    of: (row, column) => dot(of, row, matrix, column, example.parts[matrix].length),
  };
}

/** RMSNorm (arXiv:1910.07467, eq. 4) with factors of 1: the root of each row, and the row divided by it. */
function normColumns({ words, example: { norm_eps: eps } }, name, of, normed) {
  const root = `${name}_rms`;
  const rms = (row) => Math.sqrt(row.reduce((sum, value) => sum + value * value, 0) / row.length + eps);
  return [
    {
      ...{ sign: "", over: null },
      under: {
        ...plain(root, "RMS", msg`root of the mean square`),
        ...{
          rows: words,
          axis: "rows",
          values: of.values.map((row, at) => [normed[at][0] === null ? null : rms(row)]),
        },
        label: (row) => msg`Root mean square of the row of “${words[row]}”`,
        of: (row) => ({ op: "rms", terms: of.values[row].map((_, column) => cellName(of.name, row, column)), eps }),
      },
    },
    {
      ...{ sign: "÷", over: null },
      under: {
        ...plain(`${name}_normed`, msg`normed`, msg`row ÷ RMS`),
        ...{ rows: words, axis: "rows", values: normed },
        label: (row, column) => msg`Normed row of “${words[row]}”, number ${column + 1}`,
        of: (row, column) => ({ op: "ratio", of: cellName(of.name, row, column), by: cellName(root, row, 0) }),
      },
    },
  ];
}
