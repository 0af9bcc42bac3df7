/** What the address of the page says: the numbers that were changed, the cell in sight, the moment, what is hidden. Pure. */

/** The parameters that the request has too: all that changes a number. */
const INPUTS = [
  ...["prompt", "given", "temperature", "embeddings", "positions"],
  ...["w_q1", "w_k1", "w_v1", "w_q2", "w_k2", "w_v2", "w_o", "lm_head"],
];
/** @type {["prefill", "decode"]} */
const MOMENTS = ["prefill", "decode"];
const CELL = /^[a-z_]+[12]?:\d{1,2}:\d{1,2}$/;

/**
 * @param {string} search with or without its `?`
 * @returns {{asked: Object<string, string>, cell: string|null, moment: "prefill"|"decode"|null, predict: number|null}}
 *   what is not there, or cannot be read, is null
 */
export function readSearch(search) {
  const given = new URLSearchParams(search);
  const asked = Object.fromEntries(INPUTS.filter((name) => given.get(name)).map((name) => [name, given.get(name)]));
  const [cell, moment, predict] = ["cell", "step", "predict"].map((name) => given.get(name));
  return {
    asked,
    cell: CELL.test(cell ?? "") ? cell : null,
    moment: MOMENTS.find((each) => each === moment) ?? null,
    predict: /^\d{1,3}$/.test(predict ?? "") ? Number(predict) : null,
  };
}

/** @returns {string} "" or with its `?`; commas, semicolons and colons stay readable */
export function searchOf({ asked, cell = null, moment = null, predict = null }) {
  const said = { ...asked, cell, step: moment, predict };
  const parts = Object.entries(said)
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name}=${encodeURIComponent(value).replace(/%(2C|3B|3A)/g, decodeURIComponent)}`);
  return parts.length ? `?${parts.join("&")}` : "";
}

/**
 * @param {number[][]} rows
 * @returns {string} the matrix as the address has it, with `text` in place of one number
 */
export function matrixWith(rows, [row, column], text) {
  return rows.map((each, r) => each.map((value, c) => (r === row && c === column ? text : value)).join(",")).join(";");
}
