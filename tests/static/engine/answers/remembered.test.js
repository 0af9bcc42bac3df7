import assert from "node:assert/strict";
import { test } from "node:test";
import { createRemembered } from "../../../../kvscope/static/engine/answers/remembered.js";

test("values that were used last stay, up to a number of bytes", () => {
  const remembered = createRemembered(100);
  remembered.put("a", "A", 40);
  remembered.put("b", "B", 40);
  assert.equal(remembered.get("a"), "A");
  remembered.put("c", "C", 40);
  assert.deepEqual(["a", "b", "c"].map(remembered.get), ["A", undefined, "C"]);
});

test("a value that is larger than all room is there until the next", () => {
  const remembered = createRemembered(100);
  remembered.put("a", "A", 40);
  assert.equal(remembered.put("b", "B", 400), "B");
  assert.deepEqual(["a", "b"].map(remembered.get), [undefined, "B"]);
  remembered.put("c", "C", 1);
  assert.deepEqual(["b", "c"].map(remembered.get), [undefined, "C"]);
});

test("a value that is put again counts once", () => {
  const remembered = createRemembered(100);
  for (let i = 0; i < 5; i++) remembered.put("a", i, 60);
  remembered.put("b", "B", 40);
  assert.deepEqual(["a", "b"].map(remembered.get), [4, "B"]);
});
