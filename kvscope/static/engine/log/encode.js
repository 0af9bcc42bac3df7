/** Encodes the frames of a run's log (docs/frames.md), as kvscope/model/log/frames.py does. Pure. */

import { headerOf, VERSION } from "../../shared/log/frames.js";

const HEADER_LENGTH_BYTES = 8;
/** The types of a log's tensors, in the order of a safetensors buffer. */
const ORDER = ["F32", "I32", "F16", "U8"];

/**
 * @typedef {{dtype: "F32"|"I32"|"F16"|"U8", shape: number[], data: Float32Array|Int32Array|Uint16Array|Uint8Array}} Tensor F16 as
 *   its bits; or its bytes, of any type
 *
 * @param {{run: string, seq: number, kind: string, data: Object, tensors?: Object<string, Tensor>}} frame
 * @returns {Uint8Array<ArrayBuffer>} one safetensors buffer
 */
export function encodeFrame({ run, seq, kind, data, tensors = {} }) {
  return encodeSafetensors({ v: VERSION, kind, seq: String(seq), run, data: JSON.stringify(data) }, tensors);
}

/**
 * @param {Object<string, string>} metadata
 * @param {Object<string, {dtype: string, shape: number[], data: ArrayBufferView}>} tensors
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function encodeSafetensors(metadata, tensors) {
  const ordered = Object.entries(tensors).sort(
    ([a, x], [b, y]) => ORDER.indexOf(x.dtype) - ORDER.indexOf(y.dtype) || (a < b ? -1 : 1),
  );
  /** @type {Object<string, any>} */
  const header = { __metadata__: metadata };
  let end = 0;
  for (const [name, { dtype, shape, data }] of ordered) {
    header[name] = { dtype, shape, data_offsets: [end, end + data.byteLength] };
    end += data.byteLength;
  }
  const bytes = withHeader(header, end);
  let at = bytes.length - end;
  for (const [, { data }] of ordered) {
    bytes.set(new Uint8Array(data.buffer, data.byteOffset, data.byteLength), at);
    at += data.byteLength;
  }
  return bytes;
}

/**
 * Returns a frame for another place in another log: the same tensors, and the data with some fields replaced.
 *
 * @param {Uint8Array} payload
 * @param {{run: string, seq: number}} place
 * @param {Object} [changes] of its data
 * @returns {Uint8Array<ArrayBuffer>}
 */
export function relabelled(payload, { run, seq }, changes = {}) {
  const { header, start } = headerOf(payload);
  const body = payload.subarray(start);
  const data = { ...JSON.parse(header.__metadata__.data), ...changes };
  const metadata = { ...header.__metadata__, run, seq: String(seq), data: JSON.stringify(data) };
  const bytes = withHeader({ ...header, __metadata__: metadata }, body.length);
  bytes.set(body, bytes.length - body.length);
  return bytes;
}

/**
 * @param {Uint8Array} payload
 * @returns {{metadata: Object<string, string>, tensors: Object<string, {dtype: string, shape: number[], data: Uint8Array}>}} with the bytes of
 *   the tensors as they are
 */
export function bytesOf(payload) {
  const { header, start } = headerOf(payload);
  const body = payload.subarray(start);
  const { __metadata__: metadata, ...entries } = header;
  const tensors = Object.entries(entries).map(
    ([
      name,
      {
        dtype,
        shape,
        data_offsets: [from, to],
      },
    ]) => [name, { dtype, shape, data: body.subarray(from, to) }],
  );
  return { metadata, tensors: Object.fromEntries(tensors) };
}

/** Returns a buffer that begins with a header and has room for so many bytes of tensors. */
function withHeader(header, room) {
  const text = new TextEncoder().encode(JSON.stringify(header));
  const length = Math.ceil(text.length / 8) * 8; // tensors begin at a multiple of 8
  const bytes = new Uint8Array(HEADER_LENGTH_BYTES + length + room);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
  bytes.fill(0x20, HEADER_LENGTH_BYTES, HEADER_LENGTH_BYTES + length);
  bytes.set(text, HEADER_LENGTH_BYTES);
  return bytes;
}
