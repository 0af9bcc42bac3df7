import assert from "node:assert/strict";
import { test } from "node:test";
import { rangesCover } from "../../../../kvscope/static/shared/files/snapshot.js";

test("a text is covered when one of its characters is in one of the ranges", () => {
  assert.equal(rangesCover("U+0370-03FF, U+1F00", "abc π"), true);
  assert.equal(rangesCover("U+0370-03FF", "abc"), false);
  assert.equal(rangesCover("U+4??", "д"), true);
  assert.equal(rangesCover("U+1F600-1F64F", "😀"), true);
});

test("without ranges everything is covered, but nothing by an empty text", () => {
  assert.equal(rangesCover("", "x"), true);
  assert.equal(rangesCover("", ""), false);
});
