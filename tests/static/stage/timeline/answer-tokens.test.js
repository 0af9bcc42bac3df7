import assert from "node:assert/strict";
import { test } from "node:test";
import { kindOf, timeOf, titleOf, typeOf } from "../../../../kvscope/static/stage/timeline/answer-tokens.js";
import { assertEach } from "../../support/lists.js";
import { token } from "../../support/wire.js";

const plain = (text) => text.replace(/\u202f/g, " ");

const stepOf = (word, ms, more = {}) => ({
  data: { token: { ...token(word), prob: 0.25, ...more }, ms: { total: ms } },
});
const run = {
  steps: [stepOf(" far", 49), stepOf(" away", 38), stepOf(" to", 39, { forced: true }), stepOf(" be", 40)],
  promptLength: 5,
};
/** The same steps of a branch, whose own begin with step 2. */
const branch = { ...run, open: { parent: { run: "p", position: 6 } } };

test("a token is new in the step that chose it, and computed in the next", () => {
  assertEach([0, 1, 2, 3], (index) => kindOf(run, index, 2), ["past", "now", "new", "future"]);
});

test("its time is that of the step that computed it, once that is known", () => {
  const all = Number.POSITIVE_INFINITY;
  assert.equal(plain(timeOf(run, 0, all)), "38 ms");
  assert.equal(plain(timeOf(run, 0, 0)), "25 %");
  assert.equal(plain(timeOf(run, 3, all)), "25 %");
  assert.equal(timeOf(run, 2, all), "given");
  assert.equal(
    plain(titleOf(run, 0, all, true)),
    "·far: chosen in step 0, probability 25 %. Step 1 computed its row in 38 ms. It has a note.",
  );
  assert.equal(plain(titleOf(run, 2, 2, false)), "·to: set by this branch in step 2.");
});

test("a token that the run before a branch computed is not computed now, and its time is not the branch's", () => {
  assert.deepEqual([kindOf(branch, 0, 1), kindOf(branch, 1, 2)], ["past", "now"]);
  assert.deepEqual([timeOf(branch, 0, 3), timeOf(branch, 1, 3)].map(plain), ["25 %", "39 ms"]);
  assert.doesNotMatch(titleOf(branch, 0, 3, false), /computed its row/);
});

test("the type fits what the answer may become, and broken lines", () => {
  const typed = (words, more) => ({
    open: { chat: false, limits: { max_new_tokens: 8 } },
    tokens: words.map((word, id) => token(word, id)),
    promptLength: words.length,
    close: null,
    ...more,
  });
  assert.equal(typeOf(typed(["a sentence"])), "large");
  assert.equal(typeOf(typed(["a sentence"], { open: { chat: false, limits: { max_new_tokens: 40 } } })), "middle");
  assert.equal(typeOf(typed(["a\nb\nc\nd\ne"])), "middle");
  assert.equal(typeOf(typed(["x".repeat(400)])), "small");
});
