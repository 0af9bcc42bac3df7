/** Lays out rows of a matrix in panels, as kvscope/model/grouped.py does: neighbouring outputs have their words side by side. Pure. */

import { DECODERS } from "./blocks.js";
import { areFinite, PLAIN } from "./numbers.js";

const WORD_BYTES = 4;
/** No weight is larger than so many scales. */
const LARGEST_WEIGHT = 128;

/**
 * @typedef {{q: Uint8Array, d: Uint8Array|null, m: Uint8Array|null, areAllFinite: boolean}} Packed whole panels; outputs that are missing are 0
 *
 * @param {Uint8Array<ArrayBuffer>} rows of the file, one after another
 * @param {number} count how many
 * @param {import("./matrix.js").Panels} panels
 * @returns {Packed}
 */
export function packPanels(rows, count, panels) {
  const { kind, weight, bytes, lanes } = panels;
  const whole = Math.ceil(count / lanes);
  const q = new Int32Array((whole * bytes.q) / WORD_BYTES);
  if (PLAIN[kind]) {
    scatter(new Int32Array(rows.buffer), count, q, lanes);
    return { q: new Uint8Array(q.buffer), d: null, m: null, areAllFinite: areFinite(kind, rows) };
  }
  const scales = () => new (panels.isWide ? Float32Array : Uint16Array)(whole * lanes * weight.groups);
  const [d, m] = [scales(), weight.m && scales()];
  decodeRows(rows, count, panels, { q, d, m });
  const areAllFinite = [d, m].every(
    (each) => !each || (panels.isWide ? areScales(each) : areFinite("F16", bytesOf(each))),
  );
  return { q: bytesOf(q), d: bytesOf(d), m: m && bytesOf(m), areAllFinite };
}

const bytesOf = ({ buffer }) => new Uint8Array(buffer);

const areScales = (numbers) => numbers.every((number) => Number.isFinite(Math.fround(number * LARGEST_WEIGHT)));

/** Writes the words of each row, one after another in `words`. */
function scatter(words, rows, q, lanes) {
  const count = words.length / rows;
  for (let row = 0; row < rows; row++) {
    const to = Math.floor(row / lanes) * count * lanes + (row % lanes);
    for (let i = 0; i < count; i++) q[to + i * lanes] = words[row * count + i];
  }
}

function decodeRows(rows, count, { kind, blockBytes, weight: { groups }, bytes, lanes }, { q, d, m }) {
  const decode = DECODERS[kind];
  const blocks = rows.length / count / blockBytes;
  const perBlock = groups / blocks;
  const words = new Int32Array(bytes.q / lanes / blocks / WORD_BYTES);
  const decoded = new Uint8Array(words.buffer);
  const [ds, ms] = [new Array(perBlock).fill(0), new Array(perBlock).fill(0)];
  for (let row = 0; row < count; row++) {
    const [panel, lane] = [Math.floor(row / lanes), row % lanes];
    for (let i = 0; i < blocks; i++) {
      decode(rows, (row * blocks + i) * blockBytes, decoded, ds, ms);
      const word = (panel * blocks + i) * words.length;
      for (let j = 0; j < words.length; j++) q[(word + j) * lanes + lane] = words[j];
      const group = panel * groups + i * perBlock;
      for (let j = 0; j < perBlock; j++) {
        d[(group + j) * lanes + lane] = ds[j];
        if (m) m[(group + j) * lanes + lane] = ms[j];
      }
    }
  }
}
