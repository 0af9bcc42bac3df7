import assert from "node:assert/strict";
import { test } from "node:test";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";
import { visitorOf } from "../../../../kvscope/static/shared/state/visitor.js";

const random = () => new Uint8Array(16).fill(10);
const never = () => assert.fail("no new token is wanted");

test("a browser keeps one token and says the same on every visit", () => {
  const storage = storageOr(() => null);
  const made = visitorOf(storage, random);
  assert.equal(made, "0a".repeat(16));
  assert.equal(visitorOf(storage, never), made);
});

test("what is no token of this page's making is not said to the server", () => {
  const storage = storageOr(() => null);
  storage.setItem("kvscope.client", "somebody\nelse");
  assert.equal(visitorOf(storage, random), "0a".repeat(16));
});
