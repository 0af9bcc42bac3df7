import assert from "node:assert/strict";
import { test } from "node:test";
import { sentenceOf } from "../../../static/facts/prose.js";
import { candidatesOf, meanWeights, othersInWords, saidOf, stairsOf, waysOn } from "../../../static/intro/facts.js";
import { everyNth, introGeometry } from "../../../static/intro/geometry.js";
import { weightOf } from "../../../static/log/companding.js";
import { decodeFrame } from "../../../static/log/frames.js";
import { Run } from "../../../static/log/run.js";
import { cell, smallRun, token } from "../support/wire.js";

/** Three tokens read, then two fed: rows 3 + 1 + 1. Logits 1.5 and 0.5; seven more in a histogram from -2 to 0. */
function runOf() {
  const run = new Run("r1");
  for (const payload of smallRun()) run.push(decodeFrame(payload));
  run.open.model.vocab = 9;
  for (const { data } of run.steps) {
    data.tail = { low: -2, high: 0, count: 7 };
    data.top_tokens = [token(" x", 7), token(" d", 8)];
  }
  run.steps[0].data.token = token(" d", 8);
  return run;
}
const LOOK = { layer: 1, head: 0, query: 2, key: 1 };

test("the sentence is its tokens' text, in a chat what was typed", () => {
  const run = runOf();
  assert.deepEqual(sentenceOf(run), {
    prompt: ["a", " b", " c"].map((text, position) => ({ position, text })),
    answer: [" d", " e", " f"],
  });
  run.open.chat = true;
  assert.deepEqual(sentenceOf(run).prompt, [{ position: null, text: "a b c\n" }]);
});

test("the candidates are the likeliest, with the share that the run's settings give them", () => {
  const run = runOf();
  const candidates = candidatesOf(run);
  assert.deepEqual(
    candidates.map(({ token: { text }, chosen }) => [text, chosen]),
    [
      [" x", false],
      [" d", true],
    ],
  );
  const odds = candidates[0].share / candidates[1].share;
  assert.ok(Math.abs(odds - Math.E) < 1e-6, `${odds}`);
  const rest = 1 - candidates[0].share - candidates[1].share;
  assert.ok(rest > 0);
  assert.match(othersInWords(run, candidates), new RegExp(`^7 other tokens share the other ${Math.round(rest * 100)}`));
});

test("a token that is not in the list stands last, without a share where none is known", () => {
  const run = runOf();
  run.steps[0].data.token = { ...token(" elsewhere", 55), forced: true };
  const last = candidatesOf(run).at(-1);
  assert.deepEqual([last.token.text, last.share, last.chosen], [" elsewhere", null, true]);
  assert.match(saidOf("choice", { run, look: null }).title, /given another token/);
});

test("what decode reads is the mean of a layer's heads", () => {
  const weights = meanWeights(runOf(), 1, 3);
  assert.equal(weights.length, 4);
  const [first, second] = [0, 1].map((head) => weightOf(cell(1, head, 3, 2)));
  assert.equal(weights[2], (first + second) / 2);
});

test("with the cache each token is computed once, without it every step has all of them", () => {
  const run = runOf();
  const total = (lines, name) => lines.reduce((sum, line) => sum + line[name], 0);
  const stairs = stairsOf(run);
  assert.equal(total(stairs.with, "fresh"), 5);
  assert.equal(total(stairs.with, "again"), 0);
  assert.equal(total(stairs.without, "fresh") + total(stairs.without, "again"), 3 + 4 + 5);
  assert.equal(saidOf("without", { run, look: null }).title, "Without the cache: 12 columns instead of 5.");
});

test("every moment is said with the run's own numbers", () => {
  const run = runOf();
  const said = (moment) => saidOf(moment, { run, look: LOOK });
  assert.match(said("prefill").title, /all 3 tokens at once: prefill/);
  assert.equal(said("look").title, "Here “c” looks back at “b”.");
  assert.match(
    said("look").more,
    new RegExp(`^${Math.round(100 * weightOf(cell(1, 0, 2, 1)))}.% of its attention, in one of 4 heads`),
  );
  assert.match(said("cache").title, /“d”/);
  assert.match(saidOf("sentence", { run: null, look: null }).title, /A real language model/);
});

test("three ways lead on, to the step and cell that were told", () => {
  const run = runOf();
  assert.deepEqual(
    waysOn({ run, look: LOOK }).map(({ step, selection }) => [step, selection]),
    [
      [0, { view: "tokens" }],
      [0, { view: "head", ...LOOK }],
      [2, { view: "cache" }],
    ],
  );
  assert.equal(waysOn({ run, look: null }).length, 2);
});

test("columns keep to the picture, whatever its size and their number", () => {
  for (const [width, height, positions] of [
    [1330, 640, 12],
    [358, 500, 12],
    [288, 260, 2],
    [1330, 640, 513],
  ]) {
    const geometry = introGeometry({ width, height }, { positions, layers: 30 });
    const { x, residual, shelf, y, cell: high, shelfAt } = geometry;
    assert.ok(x(0) >= 40 && y(29) > 0 && y(0) + high < height - 20, "room for names and layers");
    assert.ok(shelfAt(positions - 1) + 2 * shelf <= width, `${positions} in ${width}`);
    assert.ok(x(0) + residual <= shelfAt(0) && shelfAt(0) + 2 * shelf <= x(1), "a column ends before the next");
    assert.ok(Math.abs(y(0) + high - y(29) - 30 * high) < 1e-9);
  }
});

test("of names without room every so many is written", () => {
  assert.equal(everyNth(40, 17), 1);
  assert.equal(everyNth(4, 17), 5);
});
