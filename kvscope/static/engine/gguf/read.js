/**
 * Reads a visitor's GGUF file into the engine: its model, info and tokenizer are those that kvscope/model/service/for_browser.py makes of
 * the same file. The file is read by slices, so that it is never in memory as a whole.
 */

import { bytesShort } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { configOf } from "./config.js";
import { readHeader, slice } from "./header.js";
import { areFinite, numbersOf } from "./numbers.js";
import { packPanels } from "./panels.js";
import { planOf } from "./plan.js";
import { damaged } from "./refusal.js";
import { createSha256 } from "./sha256.js";
import { tokenizerOf } from "./vocabulary.js";

/** Bytes that are read at a time. */
const PIECE_BYTES = 4_000_000;

/**
 * @typedef {Object} Opened
 * @property {Object} packed as `Packed.description`
 * @property {Object} tokenizer as `packed_tokenizer.described` returns it
 * @property {{prompt_tokens: number, new_tokens: number, positions: number}} limits of a run
 * @property {(load: (offset: number, bytes: Uint8Array) => void) => AsyncGenerator<number, Object>} read passes on the packed tensors; yields how
 *   many bytes of the file it is done with, each of which it reads twice, and returns the `model` object of an `open` frame
 *
 * @param {File} file
 * @param {{gguf: Object, packed: Object}} details of the site's own model (kvscope/model/service/for_browser.py)
 * @returns {Promise<Opened>}  @throws {Refused}
 */
export async function openGguf(file, { gguf: facts, packed: site }) {
  const header = await readHeader(file, facts);
  const config = configOf(header, facts);
  const plan = planOf(header, config, facts, site);
  const { size } = plan.packed;
  if (size > facts.limits.bytes)
    throw new Refused(
      422,
      msg`It takes ${bytesShort(size)}, and a page can hold a model of at most ${bytesShort(facts.limits.bytes)}. Use a smaller one, or one in fewer bits.`,
    );
  const rotation = await rotationOf(file, header, config, facts);
  const tokenizer = tokenizerOf(header.metadata, config.vocab, facts.tokenizer);
  const positions = Math.min(config.context, facts.limits.prompt_tokens + facts.limits.new_tokens);
  return {
    packed: { ...plan.packed, rotations: Array.from({ length: config.layers }, () => rotation) },
    tokenizer,
    limits: {
      prompt_tokens: Math.min(facts.limits.prompt_tokens, positions - 1),
      new_tokens: facts.limits.new_tokens,
      positions,
    },
    async *read(load) {
      const tensors = readTensors(file, plan, load);
      for await (const done of tensors) yield done / 2;
      const sha256 = createSha256();
      for (let at = 0; at < file.size; at += PIECE_BYTES) {
        sha256.add(await slice(file, at, at + PIECE_BYTES));
        yield (file.size + at) / 2;
      }
      return infoOf({ file, header, config, plan, facts, sha256: sha256.digest(), eos: tokenizer.eos });
    },
  };
}

const tensorBytes = (file, { start, bytes }) => slice(file, start, start + bytes);

async function* readTensors(file, { panels, vectors }, load) {
  let done = 0;
  for (const { at, tensors } of vectors) {
    let { at: offset } = at;
    for (const info of tensors) {
      const bytes = await tensorBytes(file, info);
      if (!areFinite(info.kind, bytes)) notFinite(info);
      const numbers = numbersOf(info.kind, bytes);
      load(offset, new Uint8Array(numbers.buffer));
      offset += numbers.byteLength;
      done += info.bytes;
    }
  }
  for (const each of panels)
    for await (const bytes of readPanels(file, each, load)) {
      done += bytes;
      yield done;
    }
}

/** Reads a matrix some panels at a time; yields how many bytes it has read. */
async function* readPanels(file, panels, load) {
  const { tensors, units, weight, bytes, lanes } = panels;
  const rowBytes = tensors[0].bytes / tensors[0].shape[0];
  const atOnce = lanes * Math.max(1, Math.floor(PIECE_BYTES / rowBytes / lanes));
  for (let first = 0; first < weight.outputs; first += atOnce) {
    const count = Math.min(atOnce, weight.outputs - first);
    const rows = await readRows(file, { tensors, units, rowBytes }, first, count);
    const packed = packPanels(rows, count, panels);
    if (!packed.areAllFinite) notFinite(tensors[0]);
    const panel = first / lanes;
    load(weight.q.at + panel * bytes.q, packed.q);
    if (packed.d) load(weight.d.at + panel * bytes.scale, packed.d);
    if (packed.m) load(weight.m.at + panel * bytes.scale, packed.m);
    yield count * rowBytes;
  }
}

/**
 * Reads rows of tensors that follow one another, in the transformer's order: llama.cpp stores those of Q and K so that the pairs
 * (i, i + width / 2) of a head are neighbours.
 */
async function readRows(file, { tensors, units, rowBytes }, first, count) {
  const rows = new Uint8Array(count * rowBytes);
  let before = 0;
  for (const [number, { start, shape }] of tensors.entries()) {
    const unit = units[number];
    const [from, to] = [Math.max(first, before) - before, Math.min(first + count, before + shape[0]) - before];
    if (from < to) {
      const whole = unit * Math.floor(from / unit);
      const read = await slice(file, start + whole * rowBytes, start + unit * Math.ceil(to / unit) * rowBytes);
      for (let row = from; row < to; row++) {
        const source = sourceOf(row, unit) - whole;
        rows.set(read.subarray(source * rowBytes, (source + 1) * rowBytes), (before + row - first) * rowBytes);
      }
    }
    before += shape[0];
  }
  return rows;
}

function sourceOf(row, unit) {
  if (unit === 1) return row;
  const within = row % unit;
  const half = unit / 2;
  return row - within + 2 * (within % half) + Math.floor(within / half);
}

/** @returns {never} */
function notFinite({ name }) {
  return damaged(msg`It is corrupted: the tensor ${name} holds values that are NaN or infinite`);
}

/** Returns the frequencies of every layer and the factor of their cosine and sine, as kvscope/model/rope.py computes them, in float32. */
async function rotationOf(file, { tensors }, { head_dim: width, theta, scaling }, facts) {
  const info = tensors.get(facts.divisors);
  if (info && (scaling.factor !== 1 || info.kind !== "F32" || info.shape.join() !== String(width / 2)))
    damaged(msg`It is corrupted: its tensor ${facts.divisors} does not fit`);
  const divisors = info && numbersOf(info.kind, await tensorBytes(file, info));
  const { fround } = Math;
  const frequencies = Array.from({ length: width / 2 }, (_, i) => {
    const unscaled = fround(1 / fround(theta ** fround((2 * i) / width)));
    return fround(unscaled / fround(divisors ? divisors[i] : scaling.factor));
  });
  return { frequencies, factor: divisors ? scaling.attention : 1 };
}

/** Returns the `model` object of an `open` frame (kvscope/model/service/info.py). */
function infoOf({ file, header, config, plan, facts, sha256, eos }) {
  const stored = {};
  for (const { format, bytes } of header.tensors.values()) stored[format] = (stored[format] ?? 0) + bytes;
  return {
    name: nameOf(file),
    sha256,
    ...Object.fromEntries(facts.described.map((field) => [field, config[field]])),
    score_width: config.head_dim,
    experts: null,
    ...{ dtype: "float32", element_bytes: 4, weight_dtype: "float32", weight_bytes: 4 * plan.parameters },
    weights: { stored, held: plan.held },
    parameters: plan.parameters,
    device: "browser",
    eos,
  };
}

/** Returns the name of the model in a file. */
function nameOf({ name }) {
  return name.replace(/\.gguf$/i, "");
}
