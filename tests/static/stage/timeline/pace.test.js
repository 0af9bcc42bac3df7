import assert from "node:assert/strict";
import { test } from "node:test";
import { paceInWords, settingsOfRun } from "../../../../static/stage/timeline/pace.js";

const open = (sampling, study = null) => ({ sampling, study, limits: { max_new_tokens: 16 } });

test("the pace says what is slowed down, and why", () => {
  assert.equal(paceInWords(18.2), "slowed down 18× to be seen");
  assert.equal(paceInWords(1.52), "slowed down 1.5× to be seen");
  assert.match(paceInWords(18.2, true), /18×.*open layer/);
  assert.equal(paceInWords(0.5), "sped up 2×");
  assert.equal(paceInWords(1.01), "shown as fast as it ran");
});

test("the settings of a run are told in words", () => {
  assert.equal(settingsOfRun(open({ strategy: "greedy" })), "Always the likeliest token · at most 16 new tokens");
  const drawn = settingsOfRun(open({ strategy: "sample", temperature: 0.8, top_k: 3, top_p: 1 }));
  assert.equal(drawn, "Drawn: temperature 0.8, top-k 3, top-p off · at most 16 new tokens");
  assert.match(settingsOfRun(open({ strategy: "greedy" }, { cache: "none" })), /no KV cache$/);
});
