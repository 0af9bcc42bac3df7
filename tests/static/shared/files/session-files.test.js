import assert from "node:assert/strict";
import { test } from "node:test";
import { fileRefusal, filesOf, sizeOf } from "../../../../kvscope/static/shared/files/session-files.js";

const there = (manifest) =>
  filesOf(manifest)
    .filter((file) => file.there)
    .map(({ kind, level }) => level ?? kind);

test("a session can be saved at every level up to the stored one", () => {
  assert.deepEqual(there({ values: null }), ["attention", "safetensors"]);
  assert.deepEqual(there({}), ["attention", "safetensors"]);
  assert.deepEqual(there({ values: { level: "qkv" } }), ["attention", "qkv", "safetensors"]);
  assert.deepEqual(there({ values: { level: "block" } }), ["attention", "qkv", "block", "safetensors"]);
  assert.equal(filesOf({}).length, 4);
});

test("a size is shown once it is known", () => {
  assert.equal(sizeOf(undefined), "");
  assert.match(sizeOf(766_432), /^766.kB$/u);
});

test("an unacceptable file is refused before it is sent", () => {
  assert.equal(fileRefusal({ name: "a", size: 10 }, 10), null);
  assert.match(fileRefusal({ name: "a", size: 0 }, 10), /“a” is empty/);
  assert.match(fileRefusal({ name: "a", size: 11 }, 10), /at most 10/);
});
