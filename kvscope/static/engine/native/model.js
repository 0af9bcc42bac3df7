/** The model in the memory of the WebAssembly module: weights, structures and the pool of the KV cache. */

import { createMemory } from "./memory.js";
import { createStructures } from "./structures.js";

/**
 * @typedef {ReturnType<typeof createModel>} Model
 *
 * @typedef {Object} Kernels what kernels.c exports; addresses have 32 bits, other whole numbers 64
 * @property {WebAssembly.Memory} memory
 * @property {WebAssembly.Global} __heap_base
 * @property {(model: number, pass: number, threads: bigint) => void} step
 * @property {(weight: number, first: bigint, count: bigint, to: number) => void} rows_of
 */

/**
 * @param {Object} parts
 * @param {WebAssembly.Instance} parts.instance of kernels.c
 * @param {Object} parts.packed the description of a packed model (kvscope/model/native/packed.py)
 * @param {number} parts.positions how many the cache has room for; a run has at most as many
 */
export function createModel({ instance, packed, positions }) {
  const exports = /** @type {Kernels} */ (/** @type {unknown} */ (instance.exports));
  const memory = createMemory(exports.memory, exports.__heap_base.value);
  const structures = createStructures(packed.structures, memory);
  const weights = memory.allocate(packed.size);
  const { layers, kv_heads: kvHeads, head_dim: width } = packed.model;
  const ofLayer = kvHeads * positions * width * Float32Array.BYTES_PER_ELEMENT;

  const rotations = new Map();
  const rotationsOf = (layer) => {
    const described = packed.rotations[layer];
    if (!described) return 0;
    const key = JSON.stringify(described);
    if (!rotations.has(key)) rotations.set(key, writeRotations(memory, described, positions));
    return rotations.get(key);
  };

  const caches = layers.map(() => ({ keys: memory.allocate(ofLayer), values: memory.allocate(ofLayer) }));
  const address = structures.list("model", [
    placed(
      {
        ...packed.model,
        layers: layers.map((layer, i) => ({ ...layer, ...caches[i], pool: positions, rotations: rotationsOf(i) })),
      },
      weights,
    ),
  ]);

  return {
    memory,
    structures,
    address,
    positions,
    values: packed.values,
    points: packed.points,
    /** The hook points at which a pass can be changed, by their numbers in C. */
    edits: packed.edits,
    shown: packed.shown,
    noExpert: packed.no_expert,
    shape: packed.model,
    /** Writes bytes of the packed tensors. */
    load(offset, bytes) {
      memory.bytes(weights + offset, bytes.length).set(bytes);
    },
    rotations: packed.rotations,
    /** @returns {Float32Array} rows [count, columns] of a weight of `shape`, dequantized */
    rowsOf(weight, first, count) {
      const mark = memory.mark();
      try {
        const numbers = count * weight.groups * weight.size;
        const to = memory.allocate(4 * numbers);
        exports.rows_of(structures.list("weight", [placed(weight, weights)]), BigInt(first), BigInt(count), to);
        return memory.floats(to, numbers).slice();
      } finally {
        memory.release(mark);
      }
    },
    /** @returns {Float32Array} `count` numbers of a float32 tensor of `shape` */
    floatsOf: ({ at }, count) => memory.floats(weights + at, count).slice(),
    /** Computes a pass; `pass` is the address of its structure. */
    step: (pass) => exports.step(address, pass, 1n),
    /** Copies K and V of the first `rows` slots from the slot `from` on to the slots from `to` on, in every layer. */
    copyRows(from, to, rows) {
      for (const each of caches)
        for (const start of Object.values(each))
          for (let head = 0; head < kvHeads; head++) {
            const line = memory.floats(start + 4 * head * positions * width, positions * width);
            line.copyWithin(to * width, from * width, (from + rows) * width);
          }
    },
    /** @returns {{keys: Float32Array, values: Float32Array}} of a layer [kv_heads, positions, head_dim], until the next `allocate` */
    cacheOf: (layer) => ({
      keys: memory.floats(caches[layer].keys, kvHeads * positions * width),
      values: memory.floats(caches[layer].values, kvHeads * positions * width),
    }),
  };
}

/** Returns the description with an address in place of each tensor. */
function placed(value, weights) {
  if (Array.isArray(value)) return value.map((each) => placed(each, weights));
  if (value === null || typeof value !== "object") return value;
  if ("at" in value) return weights + value.at;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, placed(each, weights)]));
}

/** Writes [positions, 2, 2 × frequencies]: cosine and sine, the first half of the sine negated (kvscope/model/rope.py). */
function writeRotations(memory, { frequencies, factor }, positions) {
  const half = frequencies.length;
  const address = memory.allocate(4 * half * positions * Float32Array.BYTES_PER_ELEMENT);
  const table = memory.floats(address, 4 * half * positions);
  for (let position = 0; position < positions; position++) {
    const row = table.subarray(4 * half * position, 4 * half * (position + 1));
    for (let i = 0; i < half; i++) {
      const angle = Math.fround(position * Math.fround(frequencies[i]));
      const scale = frequencies[i] === 0 ? 1 : factor; // numbers that are not rotated keep their size
      const [cosine, sine] = [Math.cos(angle), Math.sin(angle)].map((value) => Math.fround(value) * scale);
      row[i] = row[half + i] = cosine;
      row[2 * half + i] = -sine;
      row[3 * half + i] = sine;
    }
  }
  return address;
}
