import assert from "node:assert/strict";
import { test } from "node:test";
import { narrate } from "../../../../static/stage/timeline/narration.js";
import { madeRun } from "../../support/made-run.js";
import { token } from "../../support/wire.js";

const LONGEST = 210;

const plain = (text) => text.replace(/[\u202f\u00a0]/g, " ");

function told(step, { words = ["The", " cat", " sat", " on", " it"], promptLength = 3, chosen = " on", ...rest } = {}) {
  const next = { token: { ...token(chosen), prob: 0.42, ...rest.token } };
  const run = madeRun({
    words,
    promptLength,
    row: (_layer, _head, query) => new Array(query + 1).fill(1),
    steps: { [step]: next },
  });
  run.open.study = rest.study ?? null;
  run.close = rest.close ?? null;
  return plain(narrate(run, step));
}

test("a token that a branch put there was not chosen", () => {
  assert.match(told(1, { token: { forced: true } }), /The branch put “on” next \(the model: 42 %\)\.$/);
  assert.match(told(1, { token: { forced: true, prob: null } }), /The branch put “on” next\.$/);
});

test("the last step tells why it is the last, the others do not", () => {
  const close = { reason: "length", error: null };
  assert.match(told(2, { close }), /Token limit reached\.$/);
  assert.doesNotMatch(told(1, { close }), /limit/);
  assert.match(told(2, { close: { reason: "eos" } }), /With it the answer ends\.$/);
});

test("runs without a cache say so", () => {
  assert.match(
    told(2, { study: { kind: "twin", cache: "none" } }),
    /“it” and the 4 tokens before it are all computed again/,
  );
  assert.match(
    told(2, { study: { kind: "twin", cache: "forgotten" } }),
    /only “it” is computed, and .* cannot be seen/,
  );
});

test("long tokens are cut, so that a sentence keeps its length", () => {
  const long = "x".repeat(200);
  assert.ok(told(1, { words: [long, long, long, long], chosen: long, close: { reason: "length" } }).length <= LONGEST);
});

test("there is no sentence for a step that is not there", () => {
  assert.equal(told(9), "");
});
