import assert from "node:assert/strict";
import { test } from "node:test";
import { weightOf } from "../../../../static/shared/log/companding.js";
import { momentsOf } from "../../../../static/shared/state/intro.js";
import { saidOf, whyTheFirst } from "../../../../static/stage/intro/said.js";
import { cell } from "../../support/wire.js";
import { LOOK, runOf } from "./told.js";

const MOST_WORDS = 25;
/** @returns {string} all that is said in a moment; spaces of all widths alike */
const allOf = (moment, run = runOf(), look = LOOK) => {
  const { title, more } = saidOf(moment, { run, look });
  return `${title} ${more}`.replaceAll("\u202f", " ");
};

test("each moment says what happens and why, in sentences that are short", () => {
  const run = runOf();
  for (const moment of momentsOf({ run, look: LOOK })) {
    const { title, more } = saidOf(moment, { run, look: LOOK });
    const sentences = `${title} ${more}`.split(/[.?] /);
    assert.ok(title && more, moment);
    assert.ok(sentences.length <= 4, moment);
    for (const sentence of sentences) assert.ok(sentence.split(" ").length <= MOST_WORDS, `${moment}: ${sentence}`);
  }
  assert.match(saidOf("sentence", { run: null, look: null }).title, /language model/);
});

test("the numbers are the run's own", () => {
  assert.match(allOf("prefill"), /all 3 tokens at once/);
  const share = Math.round(100 * weightOf(cell(1, 0, 2, 1)));
  assert.match(allOf("look"), new RegExp(`“c” .*“b”.*one of 4 .* ${share} % of the mix .* “b”`));
  assert.match(allOf("again"), /“e”.* 32 B/);
  assert.match(allOf("pace"), /100 ms for 3 tokens.* 40 ms for one.* 33 ms a token.* one pass .* 2 layers/);
  assert.match(allOf("without"), /12 columns .* 5\./);
});

test("how the token was chosen is said as it was", () => {
  const run = runOf();
  assert.match(allOf("choice", run), /“d”.* not a random pick/);
  run.open.sampling = { ...run.open.sampling, strategy: "sample" };
  assert.match(allOf("choice", run), /“d”.* at random/);
  run.steps[0].data.token.forced = true;
  assert.match(allOf("choice", run), /branch was given “d”/);
});

test("times that were disturbed are said to be, and nothing is worked out from them", () => {
  const run = runOf();
  assert.doesNotMatch(allOf("pace", run), /disturbed/);
  run.steps[0].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", run), /disturbed/);
  assert.doesNotMatch(allOf("pace", run), /a token\./);
  const other = runOf();
  other.steps[1].data.ms.total = 900;
  other.steps[1].data.conditions = { disturbed: true, waiting: null };
  assert.match(allOf("pace", other), /a later one 40 ms .* a token\./, "the step that nothing disturbed");
});

test("a prompt that did not go through at once is not said to have", () => {
  const run = runOf();
  run.steps[0].data.ms.chunks = [60, 40];
  assert.match(allOf("prefill", run), /in 2 passes/);
  assert.match(allOf("pace", run), /share 2 passes/);
  assert.match(allOf("prefill", runOf({ read: true })), /2 of 3 tokens are in the cache .* computes 1/);
  assert.doesNotMatch(allOf("pace", runOf({ read: true })), /share/);
});

test("why the first token gets so much is told where it does", () => {
  const run = runOf();
  assert.equal(whyTheFirst(run), "");
  run.weight = (_layer, _head, _query, key) => (key === 0 ? 0.6 : 0.1);
  assert.match(whyTheFirst(run), /60.% on average/);
});
