import assert from "node:assert/strict";
import { test } from "node:test";
import { wordsOf } from "../../../../kvscope/static/learn/words/split.js";

const LIMITS = { most: 8, chars: 40 };

test("words are split at commas, and each counts once", () => {
  assert.deepEqual(wordsOf(" cat,dog ,  New   York;cat,, ", LIMITS), {
    words: ["cat", "dog", "New York"],
    problem: "",
  });
});

test("invalid words are named, and the others are shown", () => {
  const nine = wordsOf("a,b,c,d,e,f,g,h,i", LIMITS);
  assert.equal(nine.words.length, 8);
  assert.match(nine.problem, /9/);
  const long = wordsOf(`cat,dog,${"🙂".repeat(41)}`, LIMITS);
  assert.deepEqual(long.words, ["cat", "dog"]);
  assert.match(long.problem, /41/);
  for (const few of ["", "cat", ",,"]) assert.notEqual(wordsOf(few, LIMITS).problem, "");
});
