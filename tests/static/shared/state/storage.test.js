import assert from "node:assert/strict";
import { test } from "node:test";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";
import { firstTheme, rememberTheme } from "../../../../kvscope/static/shared/state/theme.js";

function refuse() {
  throw new DOMException("The document is sandboxed", "SecurityError");
}

test("if the browser refuses storage, values last until the page closes", () => {
  const storage = storageOr(refuse);
  assert.equal(firstTheme(storage, true), "dark");
  rememberTheme(storage, "light");
  assert.equal(firstTheme(storage, true), "light");
});

test("if storage is full, values last until the page closes", () => {
  const storage = storageOr(() => ({ getItem: () => "old", setItem: refuse }));
  assert.equal(storage.getItem("a"), "old");
  storage.setItem("a", "new");
  assert.equal(storage.getItem("a"), "new");
});

test("available storage is used", () => {
  const held = new Map();
  const storage = storageOr(() => ({
    getItem: (key) => held.get(key) ?? null,
    setItem: (key, value) => held.set(key, value),
  }));
  storage.setItem("a", "1");
  assert.equal(held.get("a"), "1");
  assert.equal(storage.getItem("a"), "1");
  assert.equal(storage.getItem("b"), null);
});
