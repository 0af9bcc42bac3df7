import assert from "node:assert/strict";
import { test } from "node:test";
import { bestLayers, draftName, draftText, draftTook } from "../../../kvscope/static/serving/drafts.js";

test("a draft has the name of what guesses", () => {
  assert.deepEqual(
    [null, undefined, { tokens: 4, layers: 0 }, { tokens: 4, layers: 1 }, { tokens: 4, layers: 25 }].map(draftName),
    ["no draft", "no draft", "prompt lookup", "first 1 layer", "first 25 layers"],
  );
  assert.equal(draftText({ tokens: 1, layers: 25 }), "draft: first 25 layers, 1 token per pass");
  assert.equal(draftText({ tokens: 4, layers: 0 }), "draft: prompt lookup, 4 tokens per pass");
  assert.equal(draftText(null), "no draft");
});

test("a model of any depth has layers that can guess", () => {
  assert.deepEqual([1, 2, 12, 30].map(bestLayers), [1, 2, 10, 25]);
});

test("what a draft took is said with its passes and weights, of prompt lookup only the time", () => {
  const layers = { tokens: 2, layers: 25 };
  assert.equal(
    draftTook({ ms: 31.42, passes: 2, weight_bytes: 167_000_000 }, layers),
    "The draft took 31\u202fms of it: 2 passes of the first 25 layers, which read 167\u202fMB of weights.",
  );
  assert.match(
    draftTook({ ms: 0.04, passes: 0, weight_bytes: 0 }, { tokens: 4, layers: 0 }),
    /^Prompt lookup took 0\.04/,
  );
  assert.equal(draftTook(undefined, layers), "");
});
