/**
 * Decodes the blocks of a GGUF file into groups of weights, exactly, as kvscope/model/checkpoint/gguf_groups.py does.
 *
 * GGML's types: ggml-common.h, `block_q4_0` to `block_q6_K`; ggml-quants.c, `get_scale_min_k4`.
 */

import { halfToNumber } from "../../shared/log/frames.js";

/**
 * A decoder writes the weights of the block at `at` to `q`, and its scales and minimums to `d` and `m`: numbers, or the bits of
 * numbers where the file has one for each group.
 *
 * @typedef {(block: Uint8Array, at: number, q: Uint8Array, d: number[], m: number[]) => void} Decoder
 */

const u16 = (block, at) => block[at] | (block[at + 1] << 8);
const half = (block, at) => halfToNumber(u16(block, at));

function copied(block, from, q) {
  for (let i = 0; i < q.length; i++) q[i] = block[from + i];
}

/** Writes 5-bit numbers: 4 bytes have their highest bits, then 16 bytes the other four bits, low half first. */
function fiveBits(block, from, q, centre) {
  const high = u16(block, from) | (u16(block, from + 2) << 16);
  for (let i = 0; i < 32; i++) {
    const byte = block[from + 4 + (i & 15)];
    q[i] = ((i < 16 ? byte & 15 : byte >> 4) | (((high >>> i) & 1) << 4)) - centre;
  }
}

/** Writes the scale and minimum of each of a block's eight groups: two float16 times 6-bit numbers. */
function scalesK(block, at, d, m) {
  const [scale, minimum] = [half(block, at), -half(block, at + 2)];
  const packed = at + 4;
  for (let i = 0; i < 4; i++) {
    const [first, second, rest] = [block[packed + i], block[packed + 4 + i], block[packed + 8 + i]];
    d[i] = scale * (first & 63);
    m[i] = minimum * (second & 63);
    d[i + 4] = scale * ((rest & 15) | ((first >> 2) & 48));
    m[i + 4] = minimum * ((rest >> 4) | ((second >> 2) & 48));
  }
}

/** Returns weight i of a group: two groups share 32 bytes. */
const nibble = (block, from, group, i) => (block[from + (group >> 1) * 32 + i] >> (4 * (group & 1))) & 15;

/** @type {Object<string, Decoder>} by GGML's name */
export const DECODERS = {
  Q4_0(block, at, q, d) {
    copied(block, at + 2, q);
    d[0] = u16(block, at);
  },
  Q4_1(block, at, q, d, m) {
    copied(block, at + 4, q);
    d[0] = u16(block, at);
    m[0] = u16(block, at + 2);
  },
  Q5_0(block, at, q, d) {
    fiveBits(block, at + 2, q, 16);
    d[0] = u16(block, at);
  },
  Q5_1(block, at, q, d, m) {
    fiveBits(block, at + 4, q, 0);
    d[0] = u16(block, at);
    m[0] = u16(block, at + 2);
  },
  Q8_0(block, at, q, d) {
    copied(block, at + 2, q);
    d[0] = u16(block, at);
  },
  Q4_K(block, at, q, d, m) {
    scalesK(block, at, d, m);
    for (let group = 0; group < 8; group++)
      for (let i = 0; i < 16; i++)
        q[16 * group + i] = nibble(block, at + 16, group, i) | (nibble(block, at + 16, group, i + 16) << 4);
  },
  Q5_K(block, at, q, d, m) {
    scalesK(block, at, d, m);
    for (let group = 0; group < 8; group++)
      for (let i = 0; i < 32; i++)
        q[32 * group + i] = nibble(block, at + 48, group, i) | (((block[at + 16 + i] >> group) & 1) << 4);
  },
  Q6_K(block, at, q, d) {
    const scale = half(block, at + 208);
    for (let i = 0; i < 256; i++) {
      const [side, quarter, place] = [i >> 7, (i >> 5) & 3, i & 31];
      const low = block[at + 64 * side + 32 * (quarter & 1) + place] >> (4 * (quarter >> 1));
      const high = block[at + 128 + 32 * side + place] >> (2 * quarter);
      q[i] = ((low & 15) | ((high & 3) << 4)) - 32;
    }
    for (let group = 0; group < 16; group++) d[group] = scale * ((block[at + 192 + group] << 24) >> 24);
  },
};
