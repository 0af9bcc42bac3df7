/** Frames for tests, encoded as docs/frames.md says, by hand: independent of the decoder. */

const WRITERS = {
  U8: (values) => Uint8Array.from(values),
  I32: (values) => new Uint8Array(Int32Array.from(values).buffer),
  F32: (values) => new Uint8Array(Float32Array.from(values).buffer),
  F16: (values) => new Uint8Array(Uint16Array.from(values).buffer),
};

/** @param {Object<string, [string, number[], number[]]>} tensors name → dtype, shape, values (bits for F16) */
export function encode({ kind, seq, run = "r1", data = {}, tensors = {}, v = "2" }) {
  const header = { __metadata__: { v, kind, seq: String(seq), run, data: JSON.stringify(data) } };
  const parts = [];
  let at = 0;
  for (const [name, [dtype, shape, values]] of Object.entries(tensors)) {
    const bytes = WRITERS[dtype](values);
    header[name] = { dtype, shape, data_offsets: [at, at + bytes.length] };
    parts.push(bytes);
    at += bytes.length;
  }
  const json = new TextEncoder().encode(JSON.stringify(header));
  const frame = new Uint8Array(8 + json.length + at);
  new DataView(frame.buffer).setBigUint64(0, BigInt(json.length), true);
  frame.set(json, 8);
  let offset = 8 + json.length;
  for (const bytes of parts) {
    frame.set(bytes, offset);
    offset += bytes.length;
  }
  return frame;
}

export function stream(payloads) {
  const joined = [];
  for (const payload of payloads) {
    const length = new Uint8Array(4);
    new DataView(length.buffer).setUint32(0, payload.length, true);
    joined.push(...length, ...payload);
  }
  return Uint8Array.from(joined);
}

export const token = (text, id = 1) => ({
  id,
  text,
  bytes: [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join(""),
  special: false,
});

const LAYERS = 2;
const HEADS = 2;
const KV_HEADS = 1;
const ONE = 0x3c00;

/** The companded weight this run has at a place: any function that differs everywhere. */
export const cell = (layer, head, query, key) => layer * 100 + head * 50 + query * 10 + key + 1;

function layerFrame(seq, step, firstQuery, queries) {
  const keys = firstQuery + queries;
  const attention = [];
  for (let layer = 0; layer < LAYERS; layer++) {
    for (let head = 0; head < HEADS; head++) {
      for (let query = firstQuery; query < firstQuery + queries; query++) {
        for (let key = 0; key < keys; key++) attention.push(key > query ? 0 : cell(layer, head, query, key));
      }
    }
  }
  const qNorms = new Array(LAYERS * HEADS * queries).fill(0).map((_, i) => ONE + 100 + i);
  const norms = new Array(LAYERS * queries).fill(0).map((_, i) => ONE + i);
  return encode({
    kind: "layer",
    seq,
    data: { step, first_layer: 0, first_head: 0, first_query: firstQuery, companding: "sqrt" },
    tensors: {
      attention: ["U8", [LAYERS, HEADS, queries, keys], attention],
      q_norm: ["F16", [LAYERS, HEADS, queries], qNorms],
      k_norm: ["F16", [LAYERS, KV_HEADS, queries], norms],
      v_norm: ["F16", [LAYERS, KV_HEADS, queries], norms],
      residual_norm: ["F16", [LAYERS, queries], norms],
    },
  });
}

function stepFrame(seq, step, position, text, rows = 1) {
  return encode({
    kind: "step",
    seq,
    data: {
      step,
      phase: step === 0 ? "prefill" : "decode",
      position,
      token: { ...token(text), prob: 0.5, raw_prob: 0.5 },
      rows_computed: rows,
      ms: { total: step === 0 ? 100 : 40, chunks: [step === 0 ? 100 : 40] },
    },
    tensors: { top_ids: ["I32", [2], [7, 8]], top_logits: ["F32", [2], [1.5, 0.5]], tail_counts: ["I32", [2], [3, 4]] },
  });
}

/**
 * Payloads of a run of 2 layers × 2 heads: prompt of 3 tokens fed in chunks of 2 and 1, then two decode steps. `read`: its
 * first chunk was read from the cache.
 */
export function smallRun({ read = false } = {}) {
  const model = { name: "tiny", layers: LAYERS, heads: HEADS, kv_heads: KV_HEADS, eos: [99] };
  const sampling = { strategy: "greedy", temperature: 1, top_k: 0, top_p: 1, seed: 0 };
  const tokens = ["a", " b", " c"].map((text, id) => token(text, id));
  const opening = { model, tokens, prompt: "a b c", chat: false, sampling, limits: { max_new_tokens: 3 } };
  let seq = 0;
  const next = () => seq++;
  return [
    encode({ kind: "open", seq: next(), data: { ...opening, reused: read ? 2 : 0 } }),
    ...(read ? [] : [layerFrame(next(), 0, 0, 2)]),
    layerFrame(next(), 0, 2, 1),
    stepFrame(next(), 0, 2, " d", read ? 1 : 3),
    layerFrame(next(), 1, 3, 1),
    stepFrame(next(), 1, 3, " e"),
    layerFrame(next(), 2, 4, 1),
    stepFrame(next(), 2, 4, " f"),
    encode({ kind: "close", seq: next(), data: { reason: "length", error: null, steps: 3 } }),
  ];
}
