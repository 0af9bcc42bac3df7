import assert from "node:assert/strict";
import { test } from "node:test";
import { comparisonOf } from "../../../../kvscope/static/shared/compare/alignment.js";
import { comparisonSentence } from "../../../../kvscope/static/shared/compare/sentence.js";
import { runOf } from "../../support/compared-runs.js";

const said = (a, b) => comparisonSentence(a, b, comparisonOf(a, b)).replaceAll("\u202f", " ");
const EOS = { reason: "eos" };

test("at the first difference, the sentence has both tokens with their probabilities", () => {
  const likely = [{ x: 0.9 }, { Paris: 0.77, the: 0.14 }];
  const a = runOf(["p", "q", "x", "Paris"], { likely });
  const b = runOf(["p", "q", "x", "the"], { likely });
  assert.equal(said(a, b), "The answers have the same first token. Then “Paris” (77.0 %) becomes “the” (14.0 %).");
  assert.equal(said(b, a), "The answers have the same first token. Then “the” (14.0 %) becomes “Paris” (77.0 %).");
});

test("the sentence says that a branch's first token was set", () => {
  const a = runOf(["p", "q", "x"]);
  const b = runOf(["p", "q", "y"]);
  b.steps[0].data.token = { ...b.steps[0].data.token, raw_prob: null, forced: true };
  assert.equal(said(a, b), "The answers differ from their first token on: “x” (50.0 %) becomes “y”, which was set.");
});

test("the sentence says why a run ended before the other", () => {
  const a = runOf(["p", "q", "x"], { close: EOS });
  const b = runOf(["p", "q", "x", "y"], { close: EOS });
  assert.match(said(a, b), /Then A ends \(the model ended its answer\), and B goes on with “y” \(50\.0 %\)\.$/);
  assert.match(said(b, a), /Then B ends .* and A goes on with “y”/);
  assert.match(said(runOf(["p", "q", "x"]), b), /A is still being computed; B goes on with “y”/);
});

test("differing prompts are named first, then how the answers begin", () => {
  const a = runOf(["of", "France", "Paris"]);
  const b = runOf(["of", "Italy", "Rome"]);
  assert.equal(
    said(a, b),
    "The prompts part at position 1: “France” becomes “Italy”. The first token of the answer is “Paris” (50.0 %) in A and “Rome” (50.0 %) in B.",
  );
});

test("the sentence says whether answers to different prompts are equal, or up to which token", () => {
  const a = runOf(["of", "France", "is", "big"]);
  assert.match(said(a, runOf(["of", "Italy", "is", "big"])), /“Italy”\. The answers are the same: 2 tokens\.$/);
  assert.match(said(a, runOf(["of", "Italy", "is", "old"])), /same first token\. Then “big” \(50\.0 %\) becomes “old”/);
});

test("of equal runs, the sentence names the token whose probability differs most", () => {
  const words = ["p", "q", "x", "y"];
  const a = runOf(words, { likely: [{ x: 0.8 }, { y: 0.6 }], close: EOS });
  const b = runOf(words, { likely: [{ x: 0.75 }, { y: 0.9 }], close: EOS });
  assert.equal(
    said(a, b),
    "Both runs have the same 4 tokens. The largest change of a token’s probability is that of “y”: 60.0 % in A, 90.0 % in B.",
  );
  assert.match(said(a, a), /^Both runs have the same 4 tokens\. Rounded, each chosen token has the same probability/);
});

test("the sentence names special tokens of only one model, and counts positions in each run", () => {
  const begun = { promptLength: 3, model: "g", specials: ["<bos>"] };
  const only = (name) => `Only ${name} begins with the special token “<bos>”; the tokens after it are aligned. `;
  const a = runOf(["<bos>", "of", "France", "Paris"], begun);
  assert.equal(
    said(a, runOf(["of", "France", "Paris"])),
    `${only("A")}Both runs have the same 3 tokens so far. Rounded, each chosen token has the same probability in both.`,
  );
  assert.equal(
    said(runOf(["of", "Italy", "Paris"]), a),
    `${only("B")}The prompts part at position 1 of A and 2 of B: “Italy” becomes “France”. The answers are the same: 1 token.`,
  );
  const longer = runOf(["<bos>", "of", "France", "Paris", "and"], begun);
  const other = runOf(["of", "France", "Paris", "or"]);
  assert.match(said(longer, other), /The answers have the same first token\. Then “and”/);
  const turn = runOf(["<turn>", "of", "France", "Paris"], { promptLength: 3, specials: ["<turn>"] });
  assert.match(said(a, turn), /^A begins with “<bos>”, B with “<turn>”; the tokens after them are aligned\. Both/);
});
