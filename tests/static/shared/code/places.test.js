import assert from "node:assert/strict";
import { test } from "node:test";
import { functionAt, linesOf, namesOn, placeOf } from "../../../../kvscope/static/shared/code/places.js";
import { nameOf, shapeOf, sizesOf } from "../../../../kvscope/static/shared/code/tensors.js";

const hook = (text, ...names) => [text, "hook", names];
const use = (text, ...names) => [text, "", names];
const LAYERS = {
  path: "layers.py",
  functions: [{ name: "Layer.forward", first: 2, last: 4 }],
  lines: [
    [["def", "keyword"], [" forward():"]],
    [use("q", "attn.q"), [" = self."], hook("q", "attn.q"), ["("], use("q", "attn.q"), [")"]],
    [hook("write", "cache.k", "cache.v"), ["("], use("k", "attn.k_rot"), [")"]],
    [use("q", "attn.q"), [" + "], hook("up", "mlp.raised")],
    [hook("up", "mlp.raised")],
  ],
};
const CACHE = { path: "cache.py", functions: [], lines: [[use("keys", "cache.k")]] };
const FILES = [CACHE, LAYERS];

test("the lines of a tensor are its definitions and its uses", () => {
  assert.deepEqual(linesOf(LAYERS, ["attn.q"]), { definitions: new Set([2]), uses: new Set([4]) });
  assert.deepEqual(linesOf(LAYERS, ["cache.v", "attn.k_rot"]), { definitions: new Set([3]), uses: new Set() });
  assert.deepEqual(linesOf(LAYERS, []), { definitions: new Set(), uses: new Set() });
  assert.deepEqual(namesOn(LAYERS.lines[2]), ["cache.k", "cache.v", "attn.k_rot"]);
});

test("the line to show defines the tensor and ran, in the shown file if it has one", () => {
  const of = (names, shown, ran = null) => placeOf(FILES, names, { shown, ran });
  assert.deepEqual(of(["cache.k"], "cache.py"), { path: "layers.py", line: 3 });
  assert.deepEqual(of(["mlp.raised"], "layers.py"), { path: "layers.py", line: 4 });
  assert.deepEqual(of(["mlp.raised"], "layers.py", { "layers.py": [5] }), { path: "layers.py", line: 5 });
  assert.deepEqual(of(["attn.k_rot"], "cache.py"), { path: "layers.py", line: 3 });
  assert.equal(of(["logits"], "cache.py"), null);
});

test("a function is found by file and name", () => {
  const found = functionAt(FILES, { path: "layers.py", name: "Layer.forward" });
  assert.deepEqual(found, { path: "layers.py", first: 2, last: 4 });
  assert.equal(functionAt(FILES, { path: "layers.py", name: "gone" }), null);
});

test("a line has the name and shape of each tensor, and the bytes by dtype", () => {
  const q = { of: "attn.q_rot", hook: true, shape: [1, 9, 64], dtype: "float32", bytes: 2304 };
  const slots = { of: "slots", hook: false, shape: [1], dtype: "int64", bytes: 8 };
  assert.deepEqual([q, slots].map(nameOf), ["q_rot", "slots"]);
  assert.equal(nameOf({ ...q, of: "" }), "→");
  assert.equal(shapeOf({ ...q, shape: [1, 49152] }), "[1, 49,152]");
  assert.equal(sizesOf([q, slots, { ...q, bytes: 768 }]), "float32 2,304 + 768\u202fB, int64 8\u202fB");
});
