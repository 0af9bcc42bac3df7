import assert from "node:assert/strict";
import { test } from "node:test";
import { createMemory, OutOfMemory } from "../../../../kvscope/static/engine/native/memory.js";

const PAGE = 65536;
const memoryOf = (pages) => new WebAssembly.Memory({ initial: 1, maximum: pages });

test("addresses begin after what the module uses, and are aligned for vectors", () => {
  const memory = createMemory(memoryOf(1), 1000);
  assert.equal(memory.allocate(3), 1024);
  assert.equal(memory.allocate(64), 1088);
  assert.equal(memory.allocate(1), 1152);
});

test("memory grows when it is full, and what is in it stays", () => {
  const own = memoryOf(4);
  const memory = createMemory(own, 0);
  memory.floats(memory.allocate(8), 2).set([1, 2]);
  const large = memory.allocate(2 * PAGE);
  memory.bytes(large, 2 * PAGE).fill(7);
  assert.deepEqual([...memory.floats(0, 2)], [1, 2]);
  assert.equal(own.buffer.byteLength, 3 * PAGE);
});

test("what is released is given out again", () => {
  const own = memoryOf(3);
  const memory = createMemory(own, 0);
  memory.allocate(100);
  const mark = memory.mark();
  const first = memory.allocate(2 * PAGE);
  memory.release(mark);
  assert.equal(memory.allocate(2 * PAGE), first);
  assert.equal(own.buffer.byteLength, 3 * PAGE);
});

test("memory that the browser does not give is an error that names its size, and nothing is allocated", () => {
  const memory = createMemory(memoryOf(2), 0);
  const mark = memory.mark();
  assert.throws(() => memory.allocate(5 * PAGE), OutOfMemory);
  assert.throws(() => memory.allocate(5 * PAGE), /262144 more bytes of memory are needed/);
  assert.equal(memory.mark(), mark);
  assert.equal(memory.allocate(2 * PAGE), 0);
});
