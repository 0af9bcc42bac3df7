import assert from "node:assert/strict";
import { test } from "node:test";
import { bytesOf, encodeFrame, relabelled } from "../../../../kvscope/static/engine/log/encode.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";

const TENSORS = {
  marks: { dtype: "U8", shape: [3], data: new Uint8Array([1, 2, 3]) },
  lengths: { dtype: "F16", shape: [1], data: new Uint16Array([0x3c00]) },
  ids: { dtype: "I32", shape: [2], data: new Int32Array([7, -7]) },
  logits: { dtype: "F32", shape: [1], data: new Float32Array([0.5]) },
};
const FRAME = encodeFrame({ run: "here-a", seq: 3, kind: "step", data: { text: "é", step: 1 }, tensors: TENSORS });

test("a frame is read as it was written", () => {
  const { kind, seq, run, data, tensors } = decodeFrame(FRAME);
  assert.deepEqual({ kind, seq, run, data }, { kind: "step", seq: 3, run: "here-a", data: { text: "é", step: 1 } });
  const values = Object.entries(tensors).map(([name, { data: all }]) => [name, Array.from(all)]);
  assert.deepEqual(Object.fromEntries(values), { marks: [1, 2, 3], lengths: [1], ids: [7, -7], logits: [0.5] });
});

test("tensors of wide types come first, so that each begins at a multiple of its size", () => {
  const header = JSON.parse(
    new TextDecoder().decode(FRAME.subarray(8, 8 + Number(new DataView(FRAME.buffer).getBigUint64(0, true)))),
  );
  const starts = ["logits", "ids", "lengths", "marks"].map((name) => header[name].data_offsets[0]);
  assert.deepEqual(starts, [0, 4, 12, 14]);
});

test("a frame of another log has the same tensors, byte for byte, and changed data", () => {
  const other = relabelled(FRAME, { run: "here-b", seq: 4 }, { step: 2 });
  const { run, seq, data } = decodeFrame(other);
  assert.deepEqual({ run, seq, data }, { run: "here-b", seq: 4, data: { text: "é", step: 2 } });
  assert.deepEqual(bytesOf(other).tensors, bytesOf(FRAME).tensors);
});
