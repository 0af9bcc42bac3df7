import assert from "node:assert/strict";
import { test } from "node:test";
import { namesIn, namesUnder, sameNames } from "../../../../kvscope/static/shared/state/lit.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";

test("names lit by a lesson or the code are in the store, which is empty at first", () => {
  const store = createStore();
  assert.deepEqual(store.state().lit, []);
  store.dispatch({ type: "lit", names: ["attn.k", "cache.k"] });
  assert.deepEqual(store.state().lit, ["attn.k", "cache.k"]);
});

test("the names under the pointer come from a picture, or from the hovered cell", () => {
  const store = createStore();
  const names = (action) => {
    store.dispatch(action);
    return namesUnder(store.state());
  };
  assert.deepEqual(names({ type: "hover", hover: { layer: 1, head: 2, query: 3, key: 0 } }), ["attn.weights"]);
  assert.deepEqual(names({ type: "hover", hover: { layer: 1, kvHead: 0, key: 3 } }), ["cache.k", "cache.v"]);
  assert.deepEqual(names({ type: "hover", hover: { layer: 1, query: 3 } }), ["resid_out"]);
  assert.deepEqual(names({ type: "hover", hover: { layer: 1 } }), []);
  assert.deepEqual(names({ type: "point", names: ["mlp.gate"] }), ["mlp.gate"]);
  assert.deepEqual(names({ type: "hover", hover: null }), ["mlp.gate"]);
  assert.deepEqual(names({ type: "point", names: [] }), []);
});

test("names in an attribute are separated by spaces", () => {
  assert.deepEqual(namesIn("cache.k cache.v"), ["cache.k", "cache.v"]);
  for (const nothing of [null, undefined, ""]) assert.deepEqual(namesIn(nothing), []);
  assert.ok(sameNames(["a", "b"], ["a", "b"]));
  assert.ok(!sameNames(["a"], ["a", "b"]) && !sameNames(["a", "b"], ["b", "a"]));
});
