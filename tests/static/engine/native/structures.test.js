import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory } from "../../../../kvscope/static/engine/native/memory.js";
import { createStructures } from "../../../../kvscope/static/engine/native/structures.js";

const POINT = [
  ["x", "f32"],
  ["count", "i64"],
];
const SHAPE = [
  ["kind", "i32"],
  ["weight", "f64"],
  ["origin", { structure: "point" }],
  ["points", { list: "point" }],
  ["slots", { array: 2 }],
  ["name", "pointer"],
];

function structures() {
  const memory = createMemory(new WebAssembly.Memory({ initial: 1 }), 0);
  return { memory, ...createStructures({ point: POINT, shape: SHAPE }, memory) };
}

test("fields are where C puts them: each at a multiple of its size, pointers with 32 bits", () => {
  const { memory, list } = structures();
  const at = list("shape", [
    { kind: -3, weight: 0.5, origin: { x: 1.5, count: 2 ** 40 }, slots: [4, 5], name: 6, points: 7 },
  ]);
  const view = memory.all();
  assert.equal(view.getInt32(at, true), -3);
  assert.equal(view.getFloat64(at + 8, true), 0.5);
  assert.equal(view.getFloat32(at + 16, true), 1.5);
  assert.equal(view.getBigInt64(at + 24, true), 2n ** 40n);
  assert.deepEqual([...new Uint32Array(memory.all().buffer, at + 32, 4)], [7, 4, 5, 6]);
});

test("a list of structures is written one after another, and its address is in the field", () => {
  const { memory, list, read } = structures();
  const at = list("shape", [{ points: [{ x: 1 }, { x: 2, count: 3 }] }]);
  const points = memory.all().getUint32(at + 32, true);
  assert.deepEqual([read("point", "x", points, 0), read("point", "x", points, 1)], [1, 2]);
  assert.equal(memory.all().getBigInt64(points + 16 + 8, true), 3n);
});

test("a field without a value is 0, also where memory had another", () => {
  const { memory, list, read } = structures();
  const mark = memory.mark();
  memory.bytes(memory.allocate(64), 64).fill(255);
  memory.release(mark);
  const at = list("shape", [{}]);
  assert.deepEqual(
    ["kind", "weight", "name"].map((field) => read("shape", field, at)),
    [0, 0, 0],
  );
  assert.equal(memory.all().getUint32(at + 32, true), 0);
});

test("one field can be changed", () => {
  const { list, read, set } = structures();
  const at = list("point", [{ x: 1, count: 2 }]);
  set("point", "count", at, 9);
  assert.deepEqual([read("point", "x", at), read("point", "count", at)], [1, 9]);
});
