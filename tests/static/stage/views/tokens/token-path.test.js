import assert from "node:assert/strict";
import { test } from "node:test";
import {
  drawnBy,
  drawOf,
  logitHistogram,
  pathRows,
  tokenPath,
  whyToken,
} from "../../../../../kvscope/static/stage/views/tokens/token-path.js";
import { token } from "../../../support/wire.js";

const NO_TAIL = { tailCounts: new Int32Array(256), tail: { low: 0, high: 0, count: 0 } };
const GREEDY = { strategy: "greedy", temperature: 1, top_k: 0, top_p: 1 };
const SAMPLE = { ...GREEDY, strategy: "sample" };
const near = (actual, expected) => assert.ok(Math.abs(actual - expected) < 1e-6, `${actual} is not ${expected}`);

/** Tokens 10 … 13 with probabilities 0.4, 0.3, 0.2, 0.1; `chosen` is one of their ids. */
const shown = (chosen = 10, { forced = false, filters = {}, ...rest } = {}) => ({
  data: {
    token: { ...token("w", chosen), prob: 0.4, raw_prob: 0.4, forced },
    tail: NO_TAIL.tail,
    filters: { kept_top_k: 4, kept_top_p: 4, mass_top_k: 1, mass_top_p: 1, ...filters },
  },
  topIds: Int32Array.from([10, 11, 12, 13]),
  topLogits: Float32Array.from([4, 3, 2, 1].map(Math.log)),
  tailCounts: NO_TAIL.tailCounts,
  ...rest,
});

test("each stage has the count and the mass of what it cut", () => {
  const path = tokenPath(shown(), { ...SAMPLE, top_k: 3, top_p: 0.75 }, GREEDY);
  near(path.temperature.shares[3], 0.1);
  assert.deepEqual([path.topK.count, path.topK.cutCount], [3, 1]);
  near(path.topK.cutMass, 0.1);
  near(path.topK.shares[0], 4 / 9);
  assert.deepEqual([path.topP.count, path.topP.cutCount], [2, 1]);
  near(path.topP.cutMass, 2 / 9);
  assert.deepEqual(path.cut, [null, null, "top-p", "top-k"]);
  assert.ok(path.temperature.entropy > path.topK.entropy && path.topK.entropy > path.topP.entropy);
});

test("under the run's own settings the counts are the engine's", () => {
  const used = { ...SAMPLE, top_k: 3 };
  const filters = { kept_top_k: 3, kept_top_p: 3, mass_top_k: 0.875, mass_top_p: 0.875 };
  near(tokenPath(shown(10, { filters }), used, used).topK.cutMass, 0.125);
  near(tokenPath(shown(10, { filters }), { ...used, top_k: 2 }, used).topK.cutMass, 0.3);
});

test("the choice limits the range of the seed's random number", () => {
  const draw = drawOf(shown(12), SAMPLE);
  near(draw.from, 0.7);
  near(draw.to, 0.9);
  near(drawOf(shown(11), { ...SAMPLE, top_k: 2 }).from, 4 / 7);
  assert.equal(drawOf(shown(12), GREEDY), null, "greedy draws nothing");
  assert.equal(drawOf(shown(12, { forced: true }), SAMPLE), null, "a branch was given its token");
  assert.equal(drawOf(shown(99), SAMPLE), null, "past the listed tokens");
});

test("the same number under other settings may have drawn one of several", () => {
  const draw = { from: 0.7, to: 0.9 };
  assert.deepEqual(drawnBy(draw, [0.4, 0.3, 0.2, 0.1]), { first: 2, last: 2 });
  assert.deepEqual(drawnBy(draw, [0.8, 0.2]), { first: 0, last: 1 });
  assert.deepEqual(drawnBy(draw, [0.5, 0.1]), { first: 2, last: 2 }, "past the listed ones");
});

const why = (settings, rank, { used = settings, chosen = 10, forced } = {}) =>
  whyToken(tokenPath(shown(chosen, { forced }), settings, used), { rank, token: token(` ${rank}`, 10 + rank) });

test("why a token could not be chosen names the filter and its threshold", () => {
  const byK = why({ ...SAMPLE, top_k: 2 }, 2, { used: GREEDY });
  assert.equal(byK.possible, false);
  assert.match(byK.because, /logit 0\.69, number 3 of 4\. .* 20\.0\s%\. top-k keeps only the 2 largest/);
  const byP = why({ ...SAMPLE, top_p: 0.5 }, 3, { used: GREEDY });
  assert.match(byP.because, /top-p 0\.5 keeps the fewest tokens that together reach 50\s%\. The 2 .* reach 70\.0\s%/);
  const greedy = why(GREEDY, 1);
  assert.match(greedy.because, /Greedy always chooses the largest logit, here 0\.29 higher/);
  assert.equal(greedy.verdict, "“1” could not be chosen.");
});

test("the answer has the odds of a token that could have been drawn, and says which one was", () => {
  const could = why(SAMPLE, 3);
  assert.deepEqual([could.possible, could.verdict], [true, "“3” could have been drawn."]);
  assert.match(could.because, /a probability of 10\.0\s%\. About one draw in 10/);
  const cold = why({ ...SAMPLE, temperature: 0.1 }, 0, { chosen: 12 });
  assert.match(cold.because, /More than half of all draws select it\.$/);
  assert.equal(why(SAMPLE, 2, { chosen: 12 }).verdict, "“2” was chosen.");
  assert.equal(why(SAMPLE, 2, { chosen: 12, forced: true }).verdict, "“2” was set by this branch.");
});

test("past the listed logits the answer has only a bound", () => {
  const { because, possible } = whyToken(tokenPath(shown(), GREEDY, GREEDY), { rank: -1, token: token(" z", 77) });
  assert.match(because, /not among the 4 largest of 4 .* is at most 0\.00, its probability at most 10\.000\s%/);
  assert.equal(possible, false);
});

test("rows are the best, always with the chosen token and the one looked up", () => {
  const named = ["a", "b", "c", "d"].map((text, id) => token(text, id));
  const extra = (rank) => ({ rank, token: named[0] });
  const ranks = (...extras) => pathRows(named, 3, extras).map(({ rank }) => rank);
  assert.deepEqual(ranks(extra(0)), [0, 1, 2]);
  assert.deepEqual(ranks(extra(40), { ...extra(9), token: named[1] }), [0, 9, 40]);
  assert.deepEqual(ranks(extra(-1), null), [0, 1, 2]);
});

test("the histogram counts every logit of the vocabulary once", () => {
  const tailCounts = new Int32Array(256);
  tailCounts[0] = 5;
  tailCounts[255] = 7;
  const step = shown(10, { tailCounts });
  step.data.tail = { low: -2, high: 0, count: 12 };
  const { logits } = tokenPath(step, GREEDY, GREEDY);
  const counts = logitHistogram(logits, 4);
  const all = counts.reduce((a, b) => a + b);
  assert.deepEqual([all, counts[0]], [16, 5]);
});
