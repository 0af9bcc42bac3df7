/**
 * The address of the page: the changed inputs, the selected cell, the phase, the round of hidden numbers, whether the code is open, and
 * the matrices that are shown alone. Pure.
 */

/** The parameters that the page passes to the server: the inputs of an example. */
const INPUTS = [
  ...["prompt", "given", "temperature", "embeddings", "positions"],
  ...["w_q1", "w_k1", "w_v1", "w_q2", "w_k2", "w_v2", "w_o", "w_gate", "w_up", "w_down", "lm_head"],
];
/** @type {["prefill", "decode"]} */
const PHASES = ["prefill", "decode"];
const CELL = /^[a-z_]+[12]?:\d{1,2}:\d{1,2}$/;

/**
 * @param {string} search with or without its `?`
 * @returns {{inputs: Object<string, string>, cell: string|null, phase: "prefill"|"decode"|null, predict: number|null, code: boolean, focus: string[]|null}}
 *   missing or invalid parameters are null
 */
export function readSearch(search) {
  const given = new URLSearchParams(search);
  const inputs = Object.fromEntries(INPUTS.filter((name) => given.get(name)).map((name) => [name, given.get(name)]));
  const [cell, phase, predict] = ["cell", "step", "predict"].map((name) => given.get(name));
  return {
    inputs,
    cell: CELL.test(cell ?? "") ? cell : null,
    phase: PHASES.find((each) => each === phase) ?? null,
    predict: /^\d{1,3}$/.test(predict ?? "") ? Number(predict) : null,
    code: given.get("code") === "1",
    focus: given.get("focus")?.split(",").filter(Boolean) ?? null,
  };
}

/** @returns {string} "" or with its `?`; commas, semicolons and colons stay readable */
export function searchOf({ inputs, cell = null, phase = null, predict = null, code = false, focus = null }) {
  const values = { ...inputs, cell, step: phase, predict, code: code ? 1 : null, focus: focus?.join() ?? null };
  const parts = Object.entries(values)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2C|3B|3A)/g, decodeURIComponent)}`);
  return parts.length ? `?${parts.join("&")}` : "";
}

/**
 * @param {number[][]} rows
 * @returns {string} the matrix as the address writes it, with `text` in place of one number
 */
export function matrixWith(rows, [row, column], text) {
  return rows.map((each, r) => each.map((value, c) => (r === row && c === column ? text : value)).join(",")).join(";");
}
