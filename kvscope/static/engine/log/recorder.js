/** Encodes what a run computed as the frames of its log, as kvscope/model/log/recorder.py does. */

import { encodeFrame } from "./encode.js";
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
     * @param {{step: number, firstQuery: number, queries: number, captured: Object}} rows as `compute` captures them
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
function layerParts(shape, { step, firstQuery, queries, captured }) {
  const { heads, kv_heads: kvHeads } = shape;
  const keys = firstQuery + queries;
  const norms = [
    ["q_norm", captured.q, heads],
    ["k_norm", captured.k, kvHeads],
    ["v_norm", captured.v, kvHeads],
    ["residual_norm", captured.residual, 0],
  ];
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
    if (head.start === 0)
      for (const [name, values, count] of norms)
        tensors[name] = normsOf(values, count, { layer, query, queries, ...part });
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

/** Returns lengths [layers, count, queries] of a part; without `count`, [layers, queries]. */
function normsOf(values, count, { layer, layers, query, queries, all = queries }) {
  const lines = Math.max(1, count);
  const wide = query.end - query.start;
  const data = new Uint16Array(layers * lines * wide);
  for (let line = 0; line < layers * lines; line++) {
    const from = (layer.start * lines + line) * all + query.start;
    data.set(values.subarray(from, from + wide), line * wide);
  }
  return { dtype: "F16", shape: count ? [layers, count, wide] : [layers, wide], data };
}
