/** Encodes what a run computed as the frames of its log, as kvscope/model/log/recorder.py does. */

import { encodeFrame } from "./encode.js";
import { halvesOf } from "./half.js";
import { tilesOf } from "./tiles.js";

/** How many of the best tokens a step names. */
const NAMED_CANDIDATES = 32;

/**
 * @param {Object} parts
 * @param {string} parts.run
 * @param {{token: (id: number) => Object}} parts.tokenizer
 * @param {number} [parts.seq] of the next frame
 */
export function createRecorder({ run, tokenizer, seq: first = 0 }) {
  let seq = first;
  const frame = (kind, data, tensors = {}) => {
    const payload = encodeFrame({ run, seq, kind, data, tensors });
    seq += 1;
    return payload;
  };

  return {
    /** @param {Object} data of an `open` frame, with `ids` in place of its tokens */
    open: ({ ids, ...data }) => frame("open", { ...data, tokens: ids.map(tokenizer.token) }),

    /**
     * @param {Object} shape of the model
     * @param {{step: number, firstQuery: number, queries: number, captured: Object, experts: import("../native/pass.js").Experts|null}} rows as
     *   `compute` captures them
     */
    layers: (shape, rows) => layerParts(shape, rows).map(({ data, tensors }) => frame("layer", data, tensors)),

    /**
     * @param {Object} data of a `step` frame, without what follows from `shown`
     * @param {{ids: Int32Array, logits: Float32Array, counts: Int32Array, low: number, high: number}} shown the best candidates and the
     *   histogram of the others
     */
    step: (data, { ids, logits, counts, low, high }) =>
      frame(
        "step",
        {
          ...data,
          tail: { low, high, count: counts.reduce((sum, count) => sum + count, 0) },
          top_tokens: Array.from(ids.subarray(0, NAMED_CANDIDATES), tokenizer.token),
        },
        {
          top_ids: { dtype: "I32", shape: [ids.length], data: ids },
          top_logits: { dtype: "F32", shape: [logits.length], data: logits },
          tail_counts: { dtype: "I32", shape: [counts.length], data: counts },
        },
      ),

    /** @param {{reason: string, error: string|null, steps: number}} data */
    close: (data) => frame("close", data),
  };
}

/** Returns the data and tensors of the `layer` frames of a pass. */
function layerParts(shape, { step, firstQuery, queries, captured, experts }) {
  const { heads, kv_heads: kvHeads } = shape;
  const keys = firstQuery + queries;
  const norms = [
    ["q_norm", captured.q, heads],
    ["k_norm", captured.k, kvHeads],
    ["v_norm", captured.v, kvHeads],
    ["residual_norm", captured.residual, 0],
  ];
  // A share is 1 at most.
  const shares = experts && /** @type {Uint16Array} */ (halvesOf(experts.shares));
  return tilesOf(shape, firstQuery, queries).map(({ layer, head, query }) => {
    const part = { layers: layer.end - layer.start, queries: query.end - query.start };
    const last = firstQuery + query.end;
    const attention = new Uint8Array(part.layers * (head.end - head.start) * part.queries * last);
    let at = 0;
    for (let l = layer.start; l < layer.end; l++)
      for (let h = head.start; h < head.end; h++)
        for (let q = query.start; q < query.end; q++) {
          const row = ((l * heads + h) * queries + q) * keys;
          attention.set(captured.attention.subarray(row, row + last), at);
          at += last;
        }
    const tensors = {
      attention: { dtype: "U8", shape: [part.layers, head.end - head.start, part.queries, last], data: attention },
    };
    if (head.start === 0) {
      const rows = { layer, query, all: queries };
      for (const [name, values, count] of norms) tensors[name] = { dtype: "F16", ...lengthsOf(values, count, rows) };
      if (experts) {
        tensors.experts = { dtype: "I32", ...ofRows(experts.chosen, experts.each, rows) };
        tensors.expert_shares = { dtype: "F16", ...ofRows(shares, experts.each, rows) };
      }
    }
    const data = {
      step,
      first_layer: layer.start,
      first_head: head.start,
      first_query: firstQuery + query.start,
      companding: "sqrt",
    };
    return { data, tensors };
  });
}

/** Returns lengths [layers, count, queries] of a part of a pass with `all` queries; without `count`, [layers, queries]. */
function lengthsOf(values, count, { layer, query, all }) {
  const lines = Math.max(1, count);
  const [layers, queries] = [layer.end - layer.start, query.end - query.start];
  const data = linesOf(values, layers * lines, queries, layer.start * lines * all + query.start, all);
  return { shape: count ? [layers, count, queries] : [layers, queries], data };
}

/** Returns numbers [layers, queries, each] of a part of a pass with `all` queries. */
function ofRows(values, each, { layer, query, all }) {
  const [layers, queries] = [layer.end - layer.start, query.end - query.start];
  const data = linesOf(values, layers, queries * each, (layer.start * all + query.start) * each, all * each);
  return { shape: [layers, queries, each], data };
}

/** Returns `count` lines of `length` numbers, the first at `first` and `stride` apart. */
function linesOf(values, count, length, first, stride) {
  const lines = new values.constructor(count * length);
  for (let line = 0; line < count; line++) {
    const from = first + line * stride;
    lines.set(values.subarray(from, from + length), line * length);
  }
  return lines;
}
