import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsOfRun } from "../../../../kvscope/static/shared/facts/settings.js";
import { paceInWords } from "../../../../kvscope/static/stage/timeline/timeline.js";

const open = (sampling, study = null) => ({ sampling, study, limits: { max_new_tokens: 16 } });

test("the pace compares the shown time with the measured time", () => {
  assert.equal(paceInWords(18.2), "shown 18× slower than measured");
  assert.equal(paceInWords(1.52), "shown 1.5× slower than measured");
  assert.equal(paceInWords(0.5), "shown 2× faster than measured");
  assert.equal(paceInWords(1.01), "shown at measured speed");
});

test("the settings of a run as labels", () => {
  assert.equal(
    settingsOfRun(open({ strategy: "greedy" })),
    "Next token: always the likeliest · answer: at most 16 tokens",
  );
  const drawn = settingsOfRun(open({ strategy: "sample", temperature: 0.8, top_k: 3, top_p: 1 }));
  assert.equal(drawn, "Next token: sampled, temperature 0.8, top-k 3, top-p off · answer: at most 16 tokens");
  assert.match(settingsOfRun(open({ strategy: "greedy" }, { cache: "none" })), /no KV cache$/);
});
