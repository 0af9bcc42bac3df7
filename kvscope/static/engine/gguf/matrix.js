/** The structures `weight` of a matrix that a GGUF file has in one or several formats (kvscope/model/native/products.py). Pure. */

import { msg } from "../../shared/words/msg.js";
import { PLAIN } from "./numbers.js";
import { unknown } from "./refusal.js";

/** Plain weights of so many inputs form a group, which only orders the sums (kvscope/model/grouped.py). */
const MOST_OF_GROUP = 32;
const WORD_BYTES = 4;

/**
 * Consecutive outputs of a matrix in one format.
 *
 * @typedef {Object} Panels
 * @property {string} kind GGML's name of the format in the file
 * @property {import("./header.js").TensorInfo[]} tensors their rows follow one another
 * @property {number[]} units by tensor, how many rows are in llama.cpp's order of pairs; 1: none
 * @property {Object} weight the structure `weight`, with {at} for each of its tensors
 * @property {{q: number, scale: number}} bytes of one panel's weights, and of its scales
 * @property {string} format in memory
 * @property {boolean} isWide whether scales are float32, not float16
 * @property {number} lanes outputs of a panel
 * @property {number} blockBytes of the file
 *
 * @param {{info: import("./header.js").TensorInfo, unit: number}[]} parts
 * @param {number} inputs
 * @param {Object} facts of kvscope/model/service/gguf_facts.py
 * @param {(bytes: number) => {at: number}} place returns a place for so many bytes
 * @returns {Panels[]}
 */
export function matrixOf(parts, inputs, facts, place) {
  const alike = [];
  for (const { info, unit } of parts) {
    const last = alike.at(-1);
    if (last?.kind === info.kind) {
      last.tensors.push(info);
      last.units.push(unit);
    } else alike.push({ kind: info.kind, tensors: [info], units: [unit] });
  }
  return alike.map((each) => ({ ...each, ...laidOut(each, inputs, facts, place) }));
}

function laidOut({ kind, tensors }, inputs, { groups: grouped, kinds, lanes, types }, place) {
  const outputs = tensors.reduce((sum, { shape: [rows] }) => sum + rows, 0);
  const { bits, size, scaleBytes, minimum } = formatOf(kind, inputs, grouped) ?? refuseType(tensors[0].name, kind);
  const [, , blockBytes, plainFormat] = Object.values(types).find(([name]) => name === kind);
  const format = grouped[kind] ? `${bits}-bit groups` : plainFormat;
  const [panels, groups] = [Math.ceil(outputs / lanes), inputs / size];
  const bytes = { q: (lanes * inputs * bits) / 8, scale: lanes * groups * scaleBytes };
  const isWide = scaleBytes === WORD_BYTES;
  const weight = {
    q: place(panels * bytes.q),
    d: scaleBytes ? place(panels * bytes.scale) : null,
    m: minimum ? place(panels * bytes.scale) : null,
    ...{ panels, groups, outputs, kind: kinds[format], size, wide: Number(isWide) },
  };
  return { weight, bytes, format, isWide, lanes, blockBytes };
}

/** Returns a format in memory, or null if the native code cannot read the file's format. */
function formatOf(kind, inputs, grouped) {
  const inGroups = grouped[kind];
  if (inGroups) return { ...inGroups, scaleBytes: inGroups.scale_bytes };
  const size = greatestDivisor(inputs, MOST_OF_GROUP);
  if (!PLAIN[kind] || (size * PLAIN[kind].bytes) % WORD_BYTES) return null;
  return { bits: 8 * PLAIN[kind].bytes, size, scaleBytes: 0, minimum: false };
}

/** @returns {number} the bytes in memory */
export function panelsBytes({ weight, bytes }) {
  const scales = Number(weight.d !== null) + Number(weight.m !== null);
  return weight.panels * (bytes.q + scales * bytes.scale);
}

/** @returns {never} */
export function refuseType(name, kind) {
  return unknown(
    msg`It stores ${name} as ${kind}. Convert it to Q4_0, Q4_1, Q4_K_M, Q8_0 or F16, for example with llama-quantize`,
  );
}

function greatestDivisor(a, b) {
  return b === 0 ? a : greatestDivisor(b, a % b);
}
