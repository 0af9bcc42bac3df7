import assert from "node:assert/strict";
import { test } from "node:test";
import { saidOf, whyTheFirst } from "../../../../static/stage/intro/said.js";
import { LOOK, runOf } from "./told.js";

/** @returns {string} all that is said in a moment; spaces of all widths alike */
const allOf = (moment, run = runOf(), look = LOOK) => {
  const { title, more } = saidOf(moment, { run, look });
  return `${title} ${more}`.replaceAll("\u202f", " ");
};

test("times that were disturbed are said to be, and nothing is worked out from them", () => {
  const run = runOf();
  assert.doesNotMatch(allOf("pace", run), /disturbed/);
  run.steps[0].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", run), /disturbed/);
  assert.doesNotMatch(allOf("pace", run), /a token\./);
  const other = runOf();
  other.steps[1].data.ms.total = 900;
  other.steps[1].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", other), /a later one 40 ms .* a token\./, "the step that nothing disturbed");
});

test("a prompt that did not go through at once is not said to have", () => {
  const run = runOf();
  run.steps[0].data.ms.chunks = [60, 40];
  assert.match(allOf("prefill", run), /in 2 passes/);
  assert.match(allOf("pace", run), /share 2 passes/);
  assert.match(allOf("prefill", runOf({ read: true })), /2 of 3 tokens are in the cache .* computes 1/);
  assert.doesNotMatch(allOf("pace", runOf({ read: true })), /share/);
});

test("why the first token gets so much is told where it does", () => {
  const run = runOf();
  assert.equal(whyTheFirst(run), "");
  run.weight = (_layer, _head, _query, key) => (key === 0 ? 0.6 : 0.1);
  assert.match(whyTheFirst(run), /60.% on average/);
});
