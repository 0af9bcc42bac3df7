import assert from "node:assert/strict";
import { test } from "node:test";
import { halvesOf } from "../../../../kvscope/static/engine/log/half.js";
import { halfToNumber } from "../../../../kvscope/static/shared/log/frames.js";

const bitsOf = (...numbers) => Array.from(halvesOf(Float32Array.from(numbers)));

test("every half stays the same half", () => {
  const finite = Array.from({ length: 65536 }, (_, bits) => bits).filter((bits) => (bits & 0x7c00) !== 0x7c00);
  assert.deepEqual(bitsOf(...finite.map(halfToNumber)), finite);
});

test("a number becomes the nearest half, and one in the middle the even one", () => {
  for (const bits of [0x0000, 0x0001, 0x03fe, 0x03ff, 0x0400, 0x3bff, 0x3c00, 0x7bfd]) {
    const [low, high] = [halfToNumber(bits), halfToNumber(bits + 1)];
    const quarter = (high - low) / 4;
    const middle = bits % 2 ? bits + 1 : bits;
    assert.deepEqual(bitsOf(low + quarter, low + 2 * quarter, high - quarter), [bits, middle, bits + 1]);
    assert.deepEqual(bitsOf(-(low + quarter))[0], bits | 0x8000);
  }
});

test("numbers larger than any half, and what is no number, have no halves", () => {
  for (const number of [65505, -1e9, Number.POSITIVE_INFINITY, Number.NaN])
    assert.equal(halvesOf(Float32Array.of(1, number)), null);
  assert.deepEqual(bitsOf(65504), [0x7bff]);
});
