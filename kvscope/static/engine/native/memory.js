/** The memory of the WebAssembly module, given out from its beginning. Nothing is given back but by `release`. */

import { msg } from "../../shared/words/msg.js";

const PAGE_BYTES = 65536;
/** The places that C's vectors need. */
const ALIGNMENT = 64;

export class OutOfMemory extends Error {}

/** @typedef {ReturnType<typeof createMemory>} Memory */

/**
 * @param {WebAssembly.Memory} memory
 * @param {number} start the first byte that the module does not use itself
 */
export function createMemory(memory, start) {
  let end = start;

  /** @returns {number} the address of so many bytes, filled with zeros when first given out  @throws {OutOfMemory} */
  const allocate = (bytes) => {
    const address = Math.ceil(end / ALIGNMENT) * ALIGNMENT;
    const missing = address + bytes - memory.buffer.byteLength;
    if (missing > 0) {
      try {
        memory.grow(Math.ceil(missing / PAGE_BYTES));
      } catch {
        throw new OutOfMemory(msg`${missing} more bytes of memory are needed, and the browser gives none`);
      }
    }
    end = address + bytes;
    return address;
  };

  const view = (Kind) => (address, count) => new Kind(memory.buffer, address, count);

  return {
    allocate,
    /** @returns {number} a place to which `release` returns */
    mark: () => end,
    /** Gives back all that was allocated since the mark. */
    release(mark) {
      end = mark;
    },
    /** @returns {DataView} of all memory, until the next `allocate` */
    all: () => new DataView(memory.buffer),
    bytes: view(Uint8Array),
    halves: view(Uint16Array),
    ints: view(Int32Array),
    longs: view(BigInt64Array),
    floats: view(Float32Array),
  };
}
