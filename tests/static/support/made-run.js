/** A run as static/shared/log/run.js presents it, with any weights and lengths a test wants. */

import { weightOf } from "../../../kvscope/static/shared/log/companding.js";
import { token } from "./wire.js";

/** What a model like Llama is, and one like GPT-2, as a log says it. */
export const LIKE_LLAMA = {
  ...{ norm: "rms", gated: true, activation: "silu", positions: "rotary", qk_norm: false, windows: null, tied: true },
  ...{ dtype: "float32", element_bytes: 4, weight_dtype: "float32" },
  ...{ post_norms: false, embedding_scale: 1, experts: null },
  weights: { stored: {}, held: { float32: 4000 } },
  weight_bytes: 4000,
};
export const LIKE_GPT2 = {
  ...LIKE_LLAMA,
  ...{ norm: "layer", gated: false, activation: "gelu_tanh", positions: "learned" },
};

/** Changes a made run into a twin without a cache, whose steps compute all rows. */
export function withoutCache(run) {
  for (const { data, firstQuery, rows } of run.steps) data.rows_computed = firstQuery + rows;
  return run;
}

/** The same small weight for each key. */
const evenly = (_layer, _head, query) => new Array(query + 1).fill(9);

/**
 * @param {Object} parts
 * @param {string[]} parts.words prompt and generated tokens
 * @param {number} parts.promptLength
 * @param {number} [parts.reused] rows of the prompt that were read from the cache
 * @param {(number|null)[]|null} [parts.windows] of each layer
 * @param {(layer: number, head: number, query: number) => number[]} [parts.row] companded weights, query + 1 of them
 */
export function madeRun({
  words,
  promptLength,
  layers = 2,
  heads = 4,
  kvHeads = 2,
  headDim = 8,
  blockSize = 4,
  reused = 0,
  windows = null,
  row = evenly,
  steps = {},
}) {
  const positions = words.length;
  const run = {
    id: "made",
    layers,
    heads,
    kvHeads,
    promptLength,
    reused,
    prefillRows: promptLength - reused,
    positions,
    tokens: words.map((word, id) => token(word, id)),
    open: {
      block_size: blockSize,
      model: {
        ...LIKE_LLAMA,
        windows,
        layers,
        heads,
        kv_heads: kvHeads,
        head_dim: headDim,
        score_width: headDim,
        d: 32,
        d_mlp: 64,
        vocab: 100,
      },
    },
    steps: [],
    stepOfQuery: (query) => Math.max(0, query - promptLength + 1),
    lastQueryOfStep: (step) => promptLength + step - 1,
    row: (layer, head, query) =>
      query >= reused && query < positions ? Uint8Array.from(row(layer, head, query)) : null,
    weight(layer, head, query, key) {
      const line = run.row(layer, head, query);
      return !line || key < run.firstKey(layer, query) || key > query ? null : weightOf(line[key]);
    },
    window: (layer) => windows?.[layer] ?? null,
    firstKey: (layer, query) => Math.max(0, query + 1 - (windows?.[layer] ?? query + 1)),
    firstHeld(layer, step) {
      const { kv } = run.steps[step].data;
      return windows?.[layer] ? kv.positions - kv.windowed.positions : 0;
    },
    residualNorm: (layer, position) => (position < reused ? null : 10 * (layer + 1) + position),
    qNorm: (layer, head, position) => (position < reused ? null : 3 + layer + head + position),
    experts: () => [],
    kNorm: (layer, kvHead, position) => (position < reused ? null : 1 + layer + kvHead + position),
    vNorm: (layer, kvHead, position) => (position < reused ? null : 2 + layer + kvHead + position),
  };
  for (let step = 0; step <= positions - promptLength; step++) {
    const seen = promptLength + step;
    const blocks = Math.ceil(seen / blockSize);
    const perPosition = 2 * layers * kvHeads * headDim * 4;
    const rows = step === 0 ? promptLength - reused : 1;
    const [window] = (windows ?? []).filter((each) => each !== null);
    const dropped = windows ? Math.floor(Math.max(0, seen - rows + 1 - window) / blockSize) : 0;
    const local = (windows ?? []).filter((each) => each !== null).length;
    const held = (positions) =>
      (perPosition / layers) * ((layers - local) * positions + local * (positions - dropped * blockSize));
    run.steps.push({
      firstQuery: seen - rows,
      rows,
      data: {
        phase: step === 0 ? "prefill" : "decode",
        ms: { forward: 8, capture: 1, sample: 0.5, total: 10 + step, chunks: [8] },
        batch: 1,
        rows_computed: rows,
        weights_read: { float32: 4000 },
        conditions: null,
        kv: {
          positions: seen,
          blocks,
          block_table: Array.from({ length: blocks }, (_, i) => 7 + i),
          refcounts: new Array(blocks).fill(1),
          bytes_written: rows * perPosition,
          bytes_used: held(seen),
          bytes_reserved: held(blocks * blockSize),
          ...(windows && { windowed: { positions: seen - dropped * blockSize, blocks: blocks - dropped } }),
        },
        ...steps[step],
      },
    });
  }
  return run;
}
