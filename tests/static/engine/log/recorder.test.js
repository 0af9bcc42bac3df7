import assert from "node:assert/strict";
import { test } from "node:test";
import { createRecorder } from "../../../../kvscope/static/engine/log/recorder.js";
import { decodeFrame, halfToNumber } from "../../../../kvscope/static/shared/log/frames.js";

const SHAPE = { layers: 3, heads: 2, kv_heads: 1, experts: { chosen: 2 } };
const CHOSEN = SHAPE.experts.chosen;
/** Companded attention, bits of a length, an expert and the bits of a share (1 ÷ a power of two) at a place of a pass. */
const attentionAt = (layer, head, query, key) => (layer * 31 + head * 17 + query * 5 + key) % 251;
const lengthAt = (layer, head, query) => layer * 1000 + head * 300 + query;
const expertAt = (layer, query, place) => layer * 100 + query * 2 + place;
const shareAt = (layer, query, place) => 2 ** -(1 + ((layer + query + place) % 8));

/** Returns `count` lines [layers, …, queries] by what is at each place. */
function lines(Kind, count, queries, at) {
  const values = [];
  for (let layer = 0; layer < SHAPE.layers; layer++)
    for (let line = 0; line < count; line++) for (let q = 0; q < queries; q++) values.push(at(layer, line, q));
  return new Kind(values);
}

function capturedOf(queries, keys) {
  const attention = [];
  const [chosen, shares] = [[], []];
  for (let layer = 0; layer < SHAPE.layers; layer++) {
    for (let head = 0; head < SHAPE.heads; head++)
      for (let q = 0; q < queries; q++)
        for (let key = 0; key < keys; key++) attention.push(attentionAt(layer, head, q, key));
    for (let q = 0; q < queries; q++)
      for (let place = 0; place < CHOSEN; place++) {
        chosen.push(expertAt(layer, q, place));
        shares.push(shareAt(layer, q, place));
      }
  }
  const lengths = (count) => lines(Uint16Array, count, queries, lengthAt);
  return {
    captured: {
      attention: new Uint8Array(attention),
      ...{ q: lengths(SHAPE.heads), k: lengths(1), v: lengths(1), residual: lengths(1) },
    },
    experts: { chosen: new Int32Array(chosen), shares: new Float32Array(shares), each: CHOSEN },
  };
}

for (const [divided, firstQuery, queries] of /** @type {[string, number, number][]} */ ([
  ["whole layers", 0, 9],
  ["rows of a layer", 2000, 40],
  ["heads of a row", 40000, 2],
])) {
  test(`parts of ${divided} have every row's numbers at its place`, () => {
    const tokenizer = { token: () => ({}) };
    const recorder = createRecorder({ run: "r", tokenizer });
    const frames = recorder.layers(SHAPE, {
      step: 0,
      firstQuery,
      queries,
      ...capturedOf(queries, firstQuery + queries),
    });
    let [cells, rows] = [0, 0];
    for (const { data, tensors } of frames.map(decodeFrame)) {
      const [layers, heads, wide, keys] = tensors.attention.shape;
      const { first_layer: layer, first_head: head, first_query: first } = data;
      const query = first - firstQuery;
      assert.equal(keys, first + wide);
      cells += layers * heads * wide;
      for (const key of [0, keys - 1]) assert.equal(tensors.attention.data[key], attentionAt(layer, head, query, key));
      if (head > 0) continue;
      rows += layers * wide;
      const last = [layers - 1, wide - 1];
      for (const [l, q] of [[0, 0], last]) {
        const at = (name, line) =>
          tensors[name].data[(l * (tensors[name].shape.length === 3 ? tensors[name].shape[1] : 1) + line) * wide + q];
        for (let line = 0; line < SHAPE.heads; line++)
          assert.equal(at("q_norm", line), halfToNumber(lengthAt(layer + l, line, query + q)));
        for (const name of ["k_norm", "v_norm", "residual_norm"])
          assert.equal(at(name, 0), halfToNumber(lengthAt(layer + l, 0, query + q)), name);
        for (let place = 0; place < CHOSEN; place++) {
          const index = (l * wide + q) * CHOSEN + place;
          assert.equal(tensors.experts.data[index], expertAt(layer + l, query + q, place));
          assert.equal(tensors.expert_shares.data[index], shareAt(layer + l, query + q, place));
        }
      }
    }
    assert.equal(cells, SHAPE.layers * SHAPE.heads * queries);
    assert.equal(rows, SHAPE.layers * queries);
  });
}
