import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, timeOf, titleOf, typeOf } from "../../../../static/stage/timeline/answer-tokens.js";
import { token } from "../../support/wire.js";

const plain = (text) => text.replace(/\u202f/g, " ");

const stepOf = (word, ms, more = {}) => ({
  data: { token: { ...token(word), prob: 0.25, ...more }, ms: { total: ms } },
});
const steps = [stepOf(" far", 49), stepOf(" away", 38), stepOf(" to", 39, { forced: true }), stepOf(" be", 40)];

test("a token is new in the step that chose it, and computed in the next", () => {
  assert.deepEqual(
    [0, 1, 2, 3].map((index) => kindOf(index, 2)),
    ["past", "now", "new", "future"],
  );
});

test("its time is that of the step that computed it, once that is known", () => {
  const all = Number.POSITIVE_INFINITY;
  assert.equal(plain(timeOf(steps, 0, all)), "38 ms");
  assert.equal(plain(timeOf(steps, 0, 0)), "25 %");
  assert.equal(plain(timeOf(steps, 3, all)), "25 %");
  assert.equal(timeOf(steps, 2, all), "given");
  assert.equal(
    plain(titleOf(steps, 0, all, true)),
    "·far: chosen in step 0, probability 25 %. Step 1 computed its row in 38 ms. It has a note.",
  );
  assert.equal(plain(titleOf(steps, 2, 2, false)), "·to: set by this branch in step 2.");
});

test("the type fits what the answer may become, and broken lines", () => {
  const run = (words, more) => ({
    open: { chat: false, limits: { max_new_tokens: 8 } },
    tokens: words.map((word, id) => token(word, id)),
    promptLength: words.length,
    close: null,
    ...more,
  });
  assert.equal(typeOf(run(["a sentence"])), "large");
  assert.equal(typeOf(run(["a sentence"], { open: { chat: false, limits: { max_new_tokens: 40 } } })), "middle");
  assert.equal(typeOf(run(["a\nb\nc\nd\ne"])), "middle");
  assert.equal(typeOf(run(["x".repeat(400)])), "small");
});
