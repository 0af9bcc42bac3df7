import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOf, unknownIn, withNamed } from "../../../../kvscope/static/stage/facts/parts.js";

test("a name is known on the page or in its view, and the first other one is told", () => {
  assert.equal(unknownIn({ view: "model", focus: ["sentence", "tokens"] }), null);
  assert.equal(unknownIn({ view: "head", focus: ["sentence", "tokens", "other"] }), "tokens");
});

test("lit parts of the view are opened, names of other views are left out", () => {
  assert.deepEqual(withNamed({ view: "model", focus: ["tokens"] }, ["logits", "shards", "tokens"]), [
    "tokens",
    "logits",
  ]);
});

test("each view has its own parts", () => {
  assert.ok(partsOf("head").includes("attn.weights"));
  assert.ok(!partsOf("head").includes("tokens"));
});
