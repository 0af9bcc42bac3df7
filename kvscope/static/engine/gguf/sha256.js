/**
 * SHA-256 (FIPS 180-4) piece by piece: Web Crypto hashes only what is in memory as a whole, and a model may be larger than that. Pure.
 */

import { hex } from "../../shared/log/hex.js";

const BLOCK = 64;
const PRIMES = primes(64);
/** The first 32 bits of the fractions of the primes' square roots and cube roots. */
const START = PRIMES.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const ROUND = Int32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));

/** @returns {{add: (bytes: Uint8Array) => void, digest: () => string}} `digest`: 64 hexadecimal digits; nothing can be added after it */
export function createSha256() {
  const state = Int32Array.from(START);
  const words = new Int32Array(64);
  const rest = new Uint8Array(BLOCK);
  let length = 0;

  const add = (bytes) => {
    let at = 0;
    const waiting = length % BLOCK;
    length += bytes.length;
    if (waiting) {
      const some = bytes.subarray(0, BLOCK - waiting);
      rest.set(some, waiting);
      if (waiting + some.length < BLOCK) return;
      compress(state, words, rest, 0);
      at = some.length;
    }
    for (; at + BLOCK <= bytes.length; at += BLOCK) compress(state, words, bytes, at);
    rest.set(bytes.subarray(at));
  };

  return {
    add,
    digest() {
      const bits = BigInt(length) * 8n;
      const padding = new Uint8Array(BLOCK - ((length + 8) % BLOCK) + 8);
      padding[0] = 0x80;
      new DataView(padding.buffer).setBigUint64(padding.length - 8, bits);
      add(padding);
      const view = new DataView(new ArrayBuffer(4 * state.length));
      state.forEach((word, i) => view.setInt32(4 * i, word));
      return hex(view.buffer);
    },
  };
}

const turned = (word, by) => (word >>> by) | (word << (32 - by));

/** Mixes the block at `at` into the state. Every sum is one of 32 bits, which is what makes it fast. */
function compress(state, words, bytes, at) {
  for (let i = 0; i < 16; i++) {
    const from = at + 4 * i;
    words[i] = (bytes[from] << 24) | (bytes[from + 1] << 16) | (bytes[from + 2] << 8) | bytes[from + 3];
  }
  for (let i = 16; i < 64; i++) {
    const x = words[i - 15];
    const y = words[i - 2];
    const one = turned(x, 7) ^ turned(x, 18) ^ (x >>> 3);
    const two = turned(y, 17) ^ turned(y, 19) ^ (y >>> 10);
    words[i] = (((words[i - 16] + one) | 0) + ((words[i - 7] + two) | 0)) | 0;
  }
  let a = state[0];
  let b = state[1];
  let c = state[2];
  let d = state[3];
  let e = state[4];
  let f = state[5];
  let g = state[6];
  let h = state[7];
  for (let i = 0; i < 64; i++) {
    const mixed = ((e & f) ^ (~e & g)) + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25));
    const one = ((mixed | 0) + ((h + ((ROUND[i] + words[i]) | 0)) | 0)) | 0;
    const two = ((a & b) ^ (a & c) ^ (b & c)) + (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22));
    h = g;
    g = f;
    f = e;
    e = (d + one) | 0;
    d = c;
    c = b;
    b = a;
    a = (one + two) | 0;
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
  state[4] += e;
  state[5] += f;
  state[6] += g;
  state[7] += h;
}

function primes(count) {
  const first = [];
  for (let number = 2; first.length < count; number++) if (first.every((prime) => number % prime)) first.push(number);
  return first;
}

function fraction(number) {
  return Math.floor((number % 1) * 2 ** 32) | 0;
}
