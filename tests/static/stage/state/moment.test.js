import assert from "node:assert/strict";
import { test } from "node:test";
import { momentInWords, momentOf } from "../../../../kvscope/static/stage/state/moment.js";

const MOMENT = { step: 3, layer: 13, head: 8, query: null, key: null, view: "head" };

test("the moment in sight is what a link would name, and is said in words", () => {
  const state = { step: 3, selection: { layer: 13, head: 8, query: null, key: null, view: "head" }, playing: true };
  assert.deepEqual(momentOf(state), MOMENT);
  assert.equal(momentInWords(MOMENT), "Step 3, layer 13, head 8, in the view “head”");
  assert.match(momentInWords({ ...MOMENT, view: "pair" }), /“query·key”/);
});
