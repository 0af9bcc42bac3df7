import assert from "node:assert/strict";
import { test } from "node:test";
import { comparisonOf } from "../../../../kvscope/static/shared/compare/alignment.js";
import { followsSameTokens, switchedOff } from "../../../../kvscope/static/shared/facts/changes.js";
import { effectSentence, stepBeside } from "../../../../kvscope/static/stage/changes/effect.js";
import { runOf } from "../../support/compared-runs.js";
import { assertEach } from "../../support/lists.js";

const EOS = { reason: "eos" };
const HEAD = switchedOff("head", { layer: 1, head: 0 });

function changedRun(words, options = {}, changes = [HEAD]) {
  const run = runOf(words, options);
  run.open.changed = { of: "a", changes };
  return run;
}

const said = (original, run) => effectSentence(original, run, comparisonOf(original, run)).replaceAll("\u202f", " ");

test("where the answers part, the original's token has its probability without and with the changes", () => {
  const original = runOf(["p", "q", "x", "Paris"], { likely: [{ x: 0.9 }, { Paris: 0.478, the: 0.1 }], close: EOS });
  const falls = changedRun(["p", "q", "x", "the"], { likely: [{ x: 0.9 }, { Paris: 0.0004, the: 0.6 }], close: EOS });
  assert.equal(
    said(original, falls),
    "With head 0 of layer 1 switched off (zero), “Paris” falls from 47.8 % to 0.04 %. The answer parts at its token 2, which is “the”.",
  );
  const rises = changedRun(["p", "q", "x", "the"], { likely: [{ x: 0.9 }, { Paris: 0.49, the: 0.5 }], close: EOS });
  assert.match(said(original, rises), /“Paris” rises from 47\.8 % to 49\.0 %\./);
});

test("a token that the changed run's log does not list has an upper bound", () => {
  const original = runOf(["p", "q", "Paris"], { likely: [{ Paris: 0.5, the: 0.4 }], close: EOS });
  const run = changedRun(["p", "q", "the"], { likely: [{ the: 0.6, a: 0.02 }], close: EOS });
  assert.match(said(original, run), /“Paris” falls from 50\.0 % to at most 2\.0 %\./);
});

test("several changes are counted", () => {
  const original = runOf(["p", "q", "x"], { close: EOS });
  const run = changedRun(["p", "q", "y"], { close: EOS }, [HEAD, HEAD]);
  assert.match(said(original, run), /^With 2 changes, /);
});

test("an equal answer has its largest change of a probability; one that grows is equal so far", () => {
  const original = runOf(["p", "q", "x", "y"], { likely: [{ x: 0.8 }, { y: 0.6 }], close: EOS });
  const options = { likely: [{ x: 0.75 }, { y: 0.9 }] };
  assert.match(
    said(original, changedRun(["p", "q", "x", "y"], { ...options, close: EOS })),
    /the answer stays the same: 2 tokens\. The largest change .* “y”: from 60\.0 % to 90\.0 %\.$/,
  );
  assert.match(said(original, changedRun(["p", "q", "x"], options)), /the answer is the same so far: 1 token\.$/);
  const same = changedRun(["p", "q", "x", "y"], { likely: [{ x: 0.8 }, { y: 0.6 }], close: EOS });
  assert.match(said(original, same), /The probability of no chosen token changes/);
});

test("one that ends earlier or later than its original is said to", () => {
  const [short, long] = ["pqx", "pqxy"];
  const ended = (original, changed) =>
    said(runOf([...original], { close: EOS }), changedRun([...changed], { close: EOS }));
  assert.match(ended(long, short), /the answer ends after 1 token; that of the original goes on with “y”\.$/);
  assert.match(ended(short, long), /the answer goes on with “y”; that of the original ends after 1 token\.$/);
});

test("a token that a branch was given is not said to come with the changes", () => {
  const original = runOf(["p", "q", "x"], { close: EOS });
  const run = changedRun(["p", "q", "y"], { close: EOS });
  run.steps[0].data.token = { ...run.steps[0].data.token, raw_prob: null, forced: true };
  assert.match(said(original, run), /“y”, which was set/);
});

test("a step stands beside the original's, and says whether both follow the same tokens", () => {
  const original = runOf(["p", "q", "x", "y", "z"]);
  const run = changedRun(["p", "q", "x", "w", "z"]);
  const aligned = comparisonOf(original, run);
  assertEach([0, 1, 2, 9], (step) => stepBeside(aligned, step), [0, 1, 2, null]);
  assertEach([0, 1, 2, 9], (step) => followsSameTokens(original, run, step), [true, true, false, false]);
});
