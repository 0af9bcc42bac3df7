import assert from "node:assert/strict";
import { test } from "node:test";
import {
  decodeFrame,
  decodeSafetensors,
  FrameSplitter,
  halfToNumber,
} from "../../../../kvscope/static/shared/log/frames.js";
import { encode, smallRun, stream } from "../../support/wire.js";

test("a frame has kind, seq, run, data and tensors", () => {
  const payload = encode({
    kind: "step",
    seq: 7,
    run: "abc",
    data: { step: 2, text: "é ⏎ 🙂" },
    tensors: { top_ids: ["I32", [2], [-5, 70000]], top_logits: ["F32", [2], [1.25, -3]] },
  });
  const frame = decodeFrame(payload);
  assert.deepEqual([frame.kind, frame.seq, frame.run], ["step", 7, "abc"]);
  assert.deepEqual(frame.data, { step: 2, text: "é ⏎ 🙂" });
  assert.deepEqual([...frame.tensors.top_ids.data], [-5, 70000]);
  assert.deepEqual([...frame.tensors.top_logits.data], [1.25, -3]);
});

test("tensors are read at any offset of a larger buffer", () => {
  const payload = encode({ kind: "step", seq: 0, tensors: { a: ["U8", [1], [9]], b: ["F32", [2], [0.5, 2]] } });
  for (let shift = 0; shift < 8; shift++) {
    const larger = new Uint8Array(payload.length + shift);
    larger.set(payload, shift);
    assert.deepEqual([...decodeFrame(larger.subarray(shift)).tensors.b.data], [0.5, 2]);
  }
});

test("half precision: zeros, ones, subnormals, the largest, infinities", () => {
  assert.equal(halfToNumber(0x3c00), 1);
  assert.equal(halfToNumber(0xc000), -2);
  assert.equal(halfToNumber(0x7bff), 65504);
  assert.equal(halfToNumber(0x0001), 2 ** -24);
  assert.equal(halfToNumber(0x03ff), 1023 * 2 ** -24);
  assert.equal(halfToNumber(0x0400), 2 ** -14);
  assert.ok(Object.is(halfToNumber(0x8000), -0));
  assert.equal(halfToNumber(0xfc00), -Infinity);
  assert.ok(Number.isNaN(halfToNumber(0x7e00)));
});

test("a cut buffer, a shape that does not fit, a foreign type and another version are refused", () => {
  const payload = encode({ kind: "step", seq: 0, tensors: { a: ["F32", [2], [1, 2]] } });
  assert.throws(() => decodeFrame(payload.subarray(0, 4)), RangeError);
  assert.throws(() => decodeFrame(payload.subarray(0, payload.length - 1)), RangeError);
  assert.throws(() => decodeFrame(encode({ kind: "step", seq: 0, tensors: { a: ["F32", [3], [1, 2]] } })), RangeError);
  assert.throws(() => decodeFrame(encode({ kind: "open", seq: 0, v: "1" })), /version 1; .* version 2 alone/);
  const json = new TextEncoder().encode('{"a":{"dtype":"F64","shape":[0],"data_offsets":[0,0]}}');
  const foreign = new Uint8Array(8 + json.length);
  new DataView(foreign.buffer).setBigUint64(0, BigInt(json.length), true);
  foreign.set(json, 8);
  assert.throws(() => decodeSafetensors(foreign), RangeError);
});

test("a stream has the same frames however the network splits it", () => {
  const payloads = smallRun();
  const bytes = stream(payloads);
  for (const size of [1, 3, 5, 64, 1000, bytes.length]) {
    const splitter = new FrameSplitter();
    const got = [];
    for (let at = 0; at < bytes.length; at += size) got.push(...splitter.push(bytes.subarray(at, at + size)));
    assert.equal(splitter.rest, 0);
    assert.deepEqual(
      got.map((frame) => [...frame]),
      payloads.map((frame) => [...frame]),
      `cut every ${size}`,
    );
  }
});

test("a frame of a stream has its own buffer, so that its tensors can be read in place", () => {
  const bytes = stream(smallRun());
  for (const payload of new FrameSplitter().push(bytes)) {
    assert.equal(payload.byteOffset, 0);
    assert.equal(payload.buffer.byteLength, payload.byteLength);
  }
});

test("an empty frame at the end of a stream is passed on, to be refused", () => {
  const [payload, ...more] = new FrameSplitter().push(new Uint8Array(4));
  assert.deepEqual([payload?.byteLength, more], [0, []]);
  assert.throws(() => decodeFrame(payload), RangeError);
});

test("a stream that ends inside a frame leaves a rest and no partial frame", () => {
  const bytes = stream(smallRun());
  const splitter = new FrameSplitter();
  assert.equal(splitter.push(bytes.subarray(0, bytes.length - 1)).length, smallRun().length - 1);
  assert.ok(splitter.rest > 0);
});
