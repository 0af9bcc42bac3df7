import assert from "node:assert/strict";
import { test } from "node:test";
import { proseOf } from "../../../../kvscope/static/shared/facts/prose.js";

const hex = (...bytes) => bytes.map((byte) => byte.toString(16).padStart(2, "0")).join("");
const token = (bytes, special = false) => ({ bytes, special });

test("tokens spell their text with spaces and newlines as they are", () => {
  const tokens = ["A", " cat", "\n"].map((text) => token(Buffer.from(text).toString("hex")));
  assert.deepEqual(proseOf(tokens), ["A", " cat", "\n"]);
});

test("a letter in two tokens belongs to the one that completes it", () => {
  assert.deepEqual(proseOf([token(hex(0xc3)), token(hex(0xa9, 0x21))]), ["", "é!"]);
});

test("special tokens add nothing, and do not break a letter around them", () => {
  assert.deepEqual(proseOf([token(hex(0x41)), token("3c7c3e", true), token(hex(0x42))]), ["A", "", "B"]);
});

test("bytes that are no text are marked", () => {
  assert.deepEqual(proseOf([token(hex(0xff, 0x41)), token(hex(0xe2))]), ["\ufffdA", "\ufffd"]);
});
