/**
 * Reads the frames of a run's log (docs/frames.md). Pure: bytes in, plain objects out.
 *
 * A frame is one safetensors buffer: u64 little-endian header length, JSON header, tensor bytes.
 */

const HEADER_LENGTH_BYTES = 8;
const STREAM_LENGTH_BYTES = 4;

/** As `VERSION` in model/log/frames.py; a test compares them. */
export const VERSION = "2";

/**
 * Converts half-precision bits to a number (IEEE 754 binary16).
 *
 * @param {number} bits 0…65535
 */
export function halfToNumber(bits) {
  const sign = bits & 0x8000 ? -1 : 1;
  const exponent = (bits >> 10) & 0x1f;
  const fraction = bits & 0x3ff;
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
}

function halvesToFloats(halves) {
  const floats = new Float32Array(halves.length);
  for (let i = 0; i < halves.length; i++) floats[i] = halfToNumber(halves[i]);
  return floats;
}

/** The safetensors types: bytes per element, and a view over a buffer that starts on an element boundary. */
const TYPES = {
  U8: { size: 1, read: (buffer, at, n) => new Uint8Array(buffer, at, n) },
  I32: { size: 4, read: (buffer, at, n) => new Int32Array(buffer, at, n) },
  F32: { size: 4, read: (buffer, at, n) => new Float32Array(buffer, at, n) },
  F16: { size: 2, read: (buffer, at, n) => halvesToFloats(new Uint16Array(buffer, at, n)) },
};

/**
 * @param {Uint8Array} bytes a safetensors buffer
 * @returns {{header: Object<string, any>, start: number}} its header, and where its tensors begin
 * @throws {RangeError} when the buffer is cut short
 */
export function headerOf(bytes) {
  if (bytes.byteLength < HEADER_LENGTH_BYTES) throw new RangeError("safetensors: no header");
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const start = HEADER_LENGTH_BYTES + Number(view.getBigUint64(0, true));
  if (start > bytes.byteLength) throw new RangeError("safetensors: header longer than the buffer");
  return { header: JSON.parse(new TextDecoder().decode(bytes.subarray(HEADER_LENGTH_BYTES, start))), start };
}

/**
 * Reads a safetensors buffer.
 *
 * @param {Uint8Array} bytes
 * @returns {{metadata: Object<string, string>, tensors: Object<string, {dtype: string, shape: number[], data: *}>}}
 *   F16 tensors come as Float32Array.
 * @throws {RangeError} when the buffer is cut short or a tensor does not fit its declared shape
 */
export function decodeSafetensors(bytes) {
  const { header, start } = headerOf(bytes);
  const { __metadata__: metadata = {}, ...entries } = header;

  const tensors = {};
  for (const [
    name,
    {
      dtype,
      shape,
      data_offsets: [from, to],
    },
  ] of Object.entries(entries)) {
    const type = TYPES[dtype];
    if (!type) throw new RangeError(`safetensors: ${name} has the type ${dtype}, which no frame uses`);
    const count = shape.reduce((product, n) => product * n, 1);
    if (to - from !== count * type.size || start + to > bytes.byteLength) {
      throw new RangeError(`safetensors: ${name} does not fit its shape`);
    }
    tensors[name] = { dtype, shape, data: aligned(bytes, start + from, count, type) };
  }
  return { metadata, tensors };
}

/** Copies a tensor that does not start on a multiple of its element size, as typed arrays must. */
function aligned(bytes, at, count, type) {
  const offset = bytes.byteOffset + at;
  if (offset % type.size === 0) return type.read(bytes.buffer, offset, count);
  return type.read(bytes.slice(at, at + count * type.size).buffer, 0, count);
}

/**
 * Reads one frame.
 *
 * @param {Uint8Array|ArrayBuffer} payload
 * @returns {{kind: string, seq: number, run: string, data: Object, tensors: Object}}
 * @throws {RangeError} when it is not a frame of this version of the format
 */
export function decodeFrame(payload) {
  const { metadata, tensors } = decodeSafetensors(asBytes(payload));
  if (metadata.v !== VERSION) {
    throw new RangeError(`frame: format version ${metadata.v}; this KVScope reads and writes version ${VERSION} alone`);
  }
  const { kind, run } = metadata;
  return { kind, seq: Number(metadata.seq), run, data: JSON.parse(metadata.data), tensors };
}

export function asBytes(payload) {
  return payload instanceof ArrayBuffer ? new Uint8Array(payload) : payload;
}

/**
 * Splits a byte stream of length-prefixed frames into frames, whatever the size of its chunks. `push` takes a chunk; `rest` is the
 * number of bytes held for an incomplete frame.
 */
export class FrameSplitter {
  /** The buffer being filled: a length, or the frame after it. Every byte is copied once, whatever the size of the chunks. */
  #target = new Uint8Array(STREAM_LENGTH_BYTES);
  #filled = 0;
  #inFrame = false;

  get rest() {
    return this.#filled + (this.#inFrame ? STREAM_LENGTH_BYTES : 0);
  }

  /**
   * @param {Uint8Array} chunk
   * @returns {Uint8Array[]} the payloads that are complete now, each in its own buffer
   * @throws {RangeError} when the length of a frame is too large for memory
   */
  push(chunk) {
    const payloads = [];
    for (let at = 0; at < chunk.byteLength; ) {
      const part = chunk.subarray(at, at + this.#target.byteLength - this.#filled);
      this.#target.set(part, this.#filled);
      this.#filled += part.byteLength;
      at += part.byteLength;
      while (this.#filled === this.#target.byteLength) this.#finish(payloads);
    }
    return payloads;
  }

  #finish(payloads) {
    const whole = this.#target;
    if (this.#inFrame) payloads.push(whole);
    const length = this.#inFrame ? STREAM_LENGTH_BYTES : new DataView(whole.buffer).getUint32(0, true);
    this.#target = new Uint8Array(length);
    this.#filled = 0;
    this.#inFrame = !this.#inFrame;
  }
}
