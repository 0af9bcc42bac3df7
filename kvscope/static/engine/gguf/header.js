/**
 * Reads the header of a GGUF file: its metadata, and the place of each tensor, as kvscope/model/gguf_header.py does.
 *
 * Format: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md. Only the header's part of the file is read into memory.
 */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { damaged, unknown } from "./refusal.js";

/** Bytes that are read first; as long as the header is longer, twice as many. Vocabularies take most of it. */
const FIRST_BYTES = 4_000_000;
/** A header of more bytes than this is corrupted: the largest vocabularies take a fifth. */
const MOST_BYTES = 100_000_000;
const MAGIC = "GGUF";
const MOST_DIMENSIONS = 4;
const UTF8 = new TextDecoder("utf-8", { ignoreBOM: true });
const STRING = 8;
const ARRAY = 9;

/** Reads a number of each type of value; whole numbers of 64 bits become numbers. @type {Object<number, [number, (view: DataView, at: number) => any]>} */
const SCALARS = {
  0: [1, (view, at) => view.getUint8(at)],
  1: [1, (view, at) => view.getInt8(at)],
  2: [2, (view, at) => view.getUint16(at, true)],
  3: [2, (view, at) => view.getInt16(at, true)],
  4: [4, (view, at) => view.getUint32(at, true)],
  5: [4, (view, at) => view.getInt32(at, true)],
  6: [4, (view, at) => view.getFloat32(at, true)],
  7: [1, (view, at) => view.getUint8(at) !== 0],
  10: [8, (view, at) => Number(view.getBigUint64(at, true))],
  11: [8, (view, at) => Number(view.getBigInt64(at, true))],
  12: [8, (view, at) => view.getFloat64(at, true)],
};
const [U32, U64] = [4, 10];

/** The header goes on after the bytes that were read. */
class Longer extends Error {}

/**
 * @typedef {Object} TensorInfo
 * @property {string} name
 * @property {string} kind GGML's name of its type
 * @property {number[]} shape in row-major order (GGUF stores it reversed)
 * @property {number} start in bytes from the beginning of the file
 * @property {number} bytes
 * @property {string} format "float32", "4-bit groups" and so on
 *
 * @typedef {{metadata: Object<string, any>, tensors: Map<string, TensorInfo>}} Header
 *
 * @param {Blob} file
 * @param {Object} facts of kvscope/model/service/gguf_facts.py
 * @returns {Promise<Header>}  @throws {Refused}
 */
export async function readHeader(file, facts) {
  for (let bytes = FIRST_BYTES; ; bytes *= 2) {
    const data = await slice(file, 0, bytes);
    try {
      return parsed(data, file.size, facts);
    } catch (error) {
      if (!(error instanceof Longer)) throw error;
      if (bytes >= Math.min(file.size, MOST_BYTES)) damaged(msg`It is truncated or corrupted: its header does not end`);
    }
  }
}

/** @returns {Promise<Uint8Array<ArrayBuffer>>} bytes of a file, up to its end  @throws {Refused} */
export async function slice(file, start, end) {
  try {
    return new Uint8Array(await file.slice(start, end).arrayBuffer());
  } catch {
    throw new Refused(422, msg`It cannot be read any more: it was changed, moved or deleted. Choose it again.`);
  }
}

/** @param {Uint8Array<ArrayBuffer>} data the beginning of the file  @returns {Header} */
function parsed(data, fileBytes, facts) {
  const cursor = createCursor(data);
  if (UTF8.decode(data.subarray(0, MAGIC.length)) !== MAGIC)
    damaged(msg`It is not a GGUF file: it does not begin with the letters GGUF`);
  cursor.take(MAGIC.length);
  const version = cursor.scalar(U32);
  if (!facts.versions.includes(version)) unknown(msg`It has GGUF version ${version}, which this page cannot read`);
  const [tensorCount, keyCount] = [cursor.scalar(U64), cursor.scalar(U64)];
  const metadata = {};
  for (let i = 0; i < keyCount; i++) {
    const key = cursor.string();
    metadata[key] = cursor.value(cursor.scalar(U32));
  }
  const described = [];
  for (let i = 0; i < tensorCount; i++) described.push(tensorAt(cursor, facts.types));
  const alignment = metadata["general.alignment"] ?? facts.alignment;
  const data0 = Math.ceil(cursor.at() / alignment) * alignment;
  const tensors = new Map();
  for (const { offset, ...tensor } of described) {
    const start = data0 + offset;
    if (!(start + tensor.bytes <= fileBytes)) damaged(msg`It is truncated: the tensor ${tensor.name} is not in it`);
    tensors.set(tensor.name, { ...tensor, start });
  }
  return { metadata, tensors };
}

function tensorAt(cursor, types) {
  const name = cursor.string();
  const dimensions = cursor.scalar(U32);
  if (dimensions < 1 || dimensions > MOST_DIMENSIONS)
    damaged(msg`It is corrupted: the tensor ${name} has ${dimensions} dimensions`);
  const shape = Array.from({ length: dimensions }, () => cursor.scalar(U64)).reverse();
  const type = cursor.scalar(U32);
  if (!types[type]) unknown(msg`It stores the tensor ${name} in a type without a name, ${type}`);
  const [kind, weights, blockBytes, format] = types[type];
  if (shape.at(-1) % weights) damaged(msg`It is corrupted: the rows of ${name} are not whole blocks`);
  const bytes = (shape.reduce((product, length) => product * length, 1) / weights) * blockBytes;
  return { name, kind, format, shape, bytes, offset: cursor.scalar(U64) };
}

/** A place in the header; every read is checked against the end of what was read. */
function createCursor(data) {
  const view = new DataView(data.buffer);
  let at = 0;
  const take = (size) => {
    if (!(at + size <= data.length)) throw new Longer();
    at += size;
    return at - size;
  };
  const scalar = (type) => {
    const [size, get] = SCALARS[type] ?? damaged(msg`It is corrupted: it has a value of the unknown type ${type}`);
    return get(view, take(size));
  };
  const string = () => {
    const size = scalar(U64);
    const start = take(size);
    return UTF8.decode(data.subarray(start, start + size));
  };
  const several = (type, count) => {
    const all = [];
    for (let i = 0; i < count; i++) all.push(type === STRING ? string() : scalar(type));
    return all;
  };
  return {
    take,
    scalar,
    string,
    at: () => at,
    value: (type) => (type === STRING ? string() : type === ARRAY ? several(scalar(U32), scalar(U64)) : scalar(type)),
  };
}
