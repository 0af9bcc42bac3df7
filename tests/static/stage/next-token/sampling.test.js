import assert from "node:assert/strict";
import { test } from "node:test";
import { settingsInWords } from "../../../../kvscope/static/shared/facts/settings.js";
import { distribution, sameSettings } from "../../../../kvscope/static/stage/next-token/sampling.js";

const NO_TAIL = { tailCounts: new Int32Array(256), tail: { low: 0, high: 0, count: 0 } };
const OFF = { strategy: "sample", temperature: 1, top_k: 0, top_p: 1 };
const of = (logits, settings) =>
  distribution({ topLogits: Float32Array.from(logits), ...NO_TAIL }, { ...OFF, ...settings });
const near = (actual, expected, within = 1e-6) =>
  assert.ok(Math.abs(actual - expected) <= within, `${actual} is not ${expected} ± ${within}`);

/** Logits ln 4, ln 3, ln 2, ln 1: probabilities 0.4, 0.3, 0.2, 0.1. */
const TENTHS = [4, 3, 2, 1].map(Math.log);

test("without filters it is softmax", () => {
  const { final, countTopP, entropy } = of(TENTHS);
  [0.4, 0.3, 0.2, 0.1].forEach((share, rank) => near(final[rank], share));
  assert.equal(countTopP, 4);
  near(entropy, 1.8464393, 1e-6);
});

test("temperature divides the logits: at 1/2 the odds are squared", () => {
  const { final } = of(TENTHS, { temperature: 0.5 });
  [16, 9, 4, 1].forEach((odds, rank) => near(final[rank], odds / 30));
});

test("top-k keeps k and shares out the rest of the mass", () => {
  const { final, cut, massTopK, countTopK } = of(TENTHS, { top_k: 2 });
  near(final[0], 4 / 7);
  near(final[1], 3 / 7);
  assert.deepEqual([...final.slice(2)], [0, 0], "what is cut cannot be drawn");
  assert.deepEqual(cut, [null, null, "top-k", "top-k"]);
  near(massTopK, 0.7);
  assert.equal(countTopK, 2);
  assert.equal(of(TENTHS, { top_k: 99 }).countTopK, 4);
});

test("top-p keeps the fewest whose sum reaches p, the one that crosses it included", () => {
  assert.equal(of(TENTHS, { top_p: 0.5 }).countTopP, 2);
  assert.equal(of(TENTHS, { top_p: 0.75 }).countTopP, 3);
  assert.equal(of(TENTHS, { top_p: 0.01 }).countTopP, 1);
  assert.deepEqual(of(TENTHS, { top_p: 0.5 }).cut, [null, null, "top-p", "top-p"]);
});

test("top-p counts only what top-k left", () => {
  const { countTopP, cut, final } = of(TENTHS, { top_k: 3, top_p: 0.75 });
  assert.equal(countTopP, 2, "4/9 + 3/9 reaches 0.75, 0.4 + 0.3 would not");
  assert.equal(of(TENTHS, { top_p: 0.75 }).countTopP, 3);
  assert.deepEqual(cut, [null, null, "top-p", "top-k"]);
  near(final[0], 4 / 7);
});

test("greedy ignores the sliders", () => {
  const { final, cut } = of(TENTHS, { strategy: "greedy", temperature: 0.1, top_k: 1, top_p: 0.1 });
  near(final[3], 0.1);
  assert.ok(cut.every((reason) => reason === null));
});

test("huge logits do not overflow and equal logits share equally", () => {
  near(of([3000, 0]).final[0], 1);
  of([5, 5, 5, 5]).final.forEach((share) => near(share, 0.25));
});

test("a temperature that is not above zero is refused", () => {
  assert.throws(() => of(TENTHS, { temperature: 0 }), RangeError);
  assert.throws(() => of(TENTHS, { temperature: Number.NaN }), RangeError);
});

/** A vocabulary of 5,000 logits, whole and as a step frame carries it. */
function vocabulary() {
  const logits = Float64Array.from({ length: 5000 }, (_, i) => 6 * Math.sin(i * 12.9898) + 3 * Math.cos(i * 78.233))
    .sort()
    .reverse();
  const rest = logits.subarray(256);
  const tail = { low: rest.at(-1), high: rest[0], count: rest.length };
  const tailCounts = new Int32Array(256);
  for (const logit of rest)
    tailCounts[Math.min(255, Math.floor(((logit - tail.low) / (tail.high - tail.low)) * 256))]++;
  return { logits, frame: { topLogits: Float32Array.from(logits.subarray(0, 256)), tailCounts, tail } };
}

/** The same by brute force over the whole vocabulary. */
function exactly(logits, { temperature, top_k: topK, top_p: topP }) {
  const weights = logits.map((logit) => Math.exp((logit - logits[0]) / temperature));
  const total = weights.reduce((a, b) => a + b);
  const probs = weights.map((weight) => weight / total);
  const keptK = topK || probs.length;
  const massK = probs.subarray(0, keptK).reduce((a, b) => a + b);
  let kept = 0;
  for (let sum = 0; kept < keptK && sum < topP * massK; kept++) sum += probs[kept];
  return { probs, kept: topP < 1 ? kept : keptK };
}

test("with the tail as a histogram, probabilities stay within a thousandth of the whole softmax", () => {
  const { logits, frame } = vocabulary();
  for (const temperature of [0.3, 0.7, 1, 2]) {
    const settings = { ...OFF, temperature };
    const { probs } = exactly(logits, settings);
    const { scaled, rest } = distribution(frame, settings);
    near(scaled[0] / probs[0], 1, 1e-3);
    near(scaled[255] / probs[255], 1, 1e-3);
    near(
      rest,
      probs.subarray(256).reduce((a, b) => a + b),
      1e-3,
    );
  }
});

test("the mass of a bin is that of logits spread evenly over it, however wide it is", () => {
  const wide = {
    topLogits: Float32Array.of(8),
    tailCounts: Int32Array.of(1000),
    tail: { low: 0, high: 8, count: 1000 },
  };
  const evenly = Array.from({ length: 1000 }, (_, i) => ((i + 0.5) / 1000) * 8);
  for (const temperature of [0.5, 1, 2]) {
    const mass = evenly.reduce((sum, logit) => sum + Math.exp((logit - 8) / temperature), 0);
    near(distribution(wide, { ...OFF, temperature }).rest, mass / (1 + mass), 1e-4);
  }
});

test("filters whose edge lies in the histogram are within about a bin, and marked as approximate", () => {
  const { logits, frame } = vocabulary();
  const wide = { ...OFF, temperature: 2, top_p: 0.97 };
  const { kept } = exactly(logits, wide);
  const result = distribution(frame, wide);
  assert.ok(kept > 256);
  assert.ok(Math.abs(result.countTopP - kept) / kept < 0.02, `${result.countTopP} of ${kept}`);
  assert.equal(result.approximate, true);
  near(result.massTopP, 0.97, 2e-3);

  const manyK = distribution(frame, { ...OFF, top_k: 1000 });
  assert.equal(manyK.countTopK, 1000);
  near(manyK.finalRest, 1 - manyK.final.reduce((a, b) => a + b), 1e-9);
  for (const all of [{}, { top_k: 10 ** 6 }]) assert.equal(distribution(frame, { ...OFF, ...all }).approximate, false);
});

test("settings are the same when they choose in the same way", () => {
  assert.ok(sameSettings({ ...OFF, strategy: "greedy", top_k: 5 }, { ...OFF, strategy: "greedy" }));
  assert.ok(!sameSettings(OFF, { ...OFF, top_k: 5 }));
  assert.ok(!sameSettings(OFF, { ...OFF, strategy: "greedy" }));
  assert.ok(sameSettings({ ...OFF, seed: 1 }, { ...OFF, seed: 2 }));
});

test("settings as text", () => {
  assert.equal(settingsInWords({ ...OFF, strategy: "greedy" }), "greedy");
  assert.equal(settingsInWords({ ...OFF, temperature: 0.7, top_k: 40 }), "temperature 0.7, top-k 40, top-p off");
});
