import assert from "node:assert/strict";
import { test } from "node:test";
import { captionOf, whyFirstToken } from "../../../../kvscope/static/stage/intro/captions.js";
import { LOOK, runOf } from "./intro-run.js";

/** @returns {string} the whole caption of a moment; spaces of all widths alike */
const allOf = (moment, run = runOf(), look = LOOK) => {
  const { title, more } = captionOf(moment, { run, look });
  return `${title} ${more}`.replaceAll("\u202f", " ");
};

test("disturbed times are marked, and nothing is computed from them", () => {
  const run = runOf();
  assert.doesNotMatch(allOf("pace", run), /disturbed/);
  run.steps[0].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", run), /disturbed/);
  assert.doesNotMatch(allOf("pace", run), /per token/);
  const other = runOf();
  other.steps[1].data.ms.total = 900;
  other.steps[1].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", other), /A later step took 40 ms .* per token/, "the step that nothing disturbed");
});

test("a prompt in several passes has their number in its captions", () => {
  const run = runOf();
  run.steps[0].data.ms.chunks = [60, 40];
  assert.match(allOf("prefill", run), /in 2 passes/);
  assert.match(allOf("pace", run), /share 2 passes/);
  assert.match(allOf("prefill", runOf({ read: true })), /2 of 3 tokens are in the cache .* computes the remaining 1/);
  assert.doesNotMatch(allOf("pace", runOf({ read: true })), /share/);
});

test("the first token's share is explained only where it is large", () => {
  const run = runOf();
  assert.equal(whyFirstToken(run), "");
  run.weight = (_layer, _head, _query, key) => (key === 0 ? 0.6 : 0.1);
  assert.match(whyFirstToken(run), /60.% on average/);
});
