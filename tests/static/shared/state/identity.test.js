import assert from "node:assert/strict";
import { test } from "node:test";
import { tokenOf, visitorOf } from "../../../../kvscope/static/shared/state/identity.js";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";

const at = (hash) => {
  const replaced = [];
  const history = { replaceState: (_state, _title, address) => replaced.push(address) };
  return { replaced, window: { location: { pathname: "/", search: "?run=a", hash }, history } };
};

test("a token in the address is stored on the device and removed from the address", () => {
  const storage = storageOr(() => null);
  const { window, replaced } = at("#token=let-me-in");
  assert.equal(tokenOf(window, storage), "let-me-in");
  assert.deepEqual(replaced, ["/?run=a"]);
  assert.equal(tokenOf(at("#step=3").window, storage), "let-me-in");
});

test("an address without a token stays unchanged", () => {
  const { window, replaced } = at("#step=3&token=let-me-in");
  const storage = storageOr(() => null);
  assert.equal(tokenOf(window, storage), null);
  assert.deepEqual(replaced, []);
});

const random = () => new Uint8Array(16).fill(10);
const never = () => assert.fail("a browser with an id makes no other");

test("a browser keeps one id and sends the same on every visit", () => {
  const storage = storageOr(() => null);
  const id = visitorOf(storage, random);
  assert.equal(id, "0a".repeat(16));
  assert.equal(visitorOf(storage, never), id);
});

test("a stored value that is no id is replaced", () => {
  const storage = storageOr(() => null);
  storage.setItem("kvscope.client", "somebody\nelse");
  assert.equal(visitorOf(storage, random), "0a".repeat(16));
});
