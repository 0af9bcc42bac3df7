import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST, focusAfter, lasting, withPart } from "../../../../kvscope/static/stage/state/focus.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";

const at = (view, focus, embed = null) => ({ selection: { view, focus, query: null, key: null }, embed });

test("a change that names parts shows them, none shows the whole page", () => {
  assert.deepEqual(focusAfter(at("head", FIRST), { focus: ["map"] }), ["map"]);
  assert.equal(focusAfter(at("head", FIRST), { focus: null }), null);
  assert.equal(focusAfter(at("head", FIRST), { focus: [] }), null);
});

test("the whole page stays whole, and a change of another kind leaves the focus", () => {
  assert.equal(focusAfter(at("head", null), { view: "block" }), null);
  assert.deepEqual(focusAfter(at("head", ["attn.weights"]), { layer: 3 }), ["attn.weights"]);
  assert.deepEqual(focusAfter(at("head", ["attn.weights"]), { view: "head" }), ["attn.weights"]);
});

test("another view opens beside the parts of the page, in place of those of the view before", () => {
  assert.deepEqual(focusAfter(at("model", ["sentence", "tokens"]), { view: "block" }), ["sentence", "inspector"]);
});

test("who leaves the intro sees the first parts, or the view that answers a question", () => {
  assert.deepEqual(focusAfter(at("intro", null), { view: "head" }), FIRST);
  assert.deepEqual(focusAfter(at("intro", null), { view: "cache" }), ["sentence", "inspector"]);
  assert.deepEqual(focusAfter(at("intro", null), { view: "head", key: 1 }), ["sentence", "inspector"]);
  assert.equal(focusAfter(at("intro", null, { hide: [] }), { view: "head" }), null, "an embed shows all that it did");
});

test("a part is opened once, and a page that is whole has it already", () => {
  assert.deepEqual(withPart(["map"], "time"), ["map", "time"]);
  assert.deepEqual(withPart(["map"], "map"), ["map"]);
  assert.equal(withPart(null, "map"), null);
  assert.deepEqual(lasting(["tokens", "time"]), ["time"]);
});

test("another run keeps the open parts of the page, unless its link says which", () => {
  const store = createStore();
  store.dispatch({ type: "select", selection: { focus: ["sentence", "attn.weights"] } });
  const run = { id: "r", steps: [], open: null };
  store.dispatch({ type: "opened", run, playing: false });
  assert.deepEqual(store.state().selection.focus, ["sentence"]);
  store.dispatch({ type: "opened", run, playing: false, focus: null });
  assert.equal(store.state().selection.focus, null);
});
