import assert from "node:assert/strict";
import { test } from "node:test";
import { narrate } from "../../../../kvscope/static/stage/timeline/narration.js";
import { madeRun } from "../../support/made-run.js";
import { token } from "../../support/wire.js";

const LONGEST = 210;

const plain = (text) => text.replace(/[\u202f\u00a0]/g, " ");

function sentencesOf(
  step,
  { words = ["The", " cat", " sat", " on", " it"], promptLength = 3, chosen = " on", ...rest } = {},
) {
  const next = { token: { ...token(chosen), prob: 0.42, ...rest.token } };
  const run = madeRun({ words, promptLength, steps: { [step]: next } });
  run.open.study = rest.study ?? null;
  run.close = rest.close ?? null;
  return plain(narrate(run, step));
}

test("a token that a branch put there was not chosen", () => {
  const forced = (more) => sentencesOf(1, { token: { forced: true, ...more } });
  assert.match(forced(), /This branch sets the next token to “on”; the model gave it 42 %\.$/);
  assert.match(forced({ prob: null }), /This branch sets the next token to “on”\.$/);
});

test("only the last step has the reason why the run ended", () => {
  const close = { reason: "length", error: null };
  assert.match(sentencesOf(2, { close }), /token limit is reached\.$/);
  assert.doesNotMatch(sentencesOf(1, { close }), /limit/);
  assert.match(sentencesOf(2, { close: { reason: "eos" } }), /This token ends the answer\.$/);
});

test("runs without a cache compute or lose the earlier tokens", () => {
  const twin = (cache) => sentencesOf(2, { study: { kind: "twin", cache } });
  assert.match(twin("none"), /“it” goes through the model\. It also computes all 4 earlier tokens again/);
  assert.match(twin("forgotten"), /only “it” goes through .* cannot read K and V of the 4 earlier tokens/);
});

test("long tokens are cut, so that a sentence keeps its length", () => {
  const long = "x".repeat(200);
  const said = sentencesOf(1, { words: [long, long, long, long], chosen: long, close: { reason: "length" } });
  assert.ok(said.length <= LONGEST);
});

test("there is no sentence for a step that is not there", () => {
  assert.equal(sentencesOf(9), "");
});
