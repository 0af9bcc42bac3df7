import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agreement,
  apart,
  byStrength,
  compared,
  depth,
  directOf,
  looksOf,
  medianKl,
  ranked,
  shareOfChange,
  signedShade,
  spearman,
  standing,
  totalOf,
} from "../../../../../kvscope/static/stage/views/effects/facts.js";
import { becomes, chance, effectSentence } from "../../../../../kvscope/static/stage/views/effects/words.js";
import { pluck } from "../../../support/lists.js";
import { madeRun } from "../../../support/made-run.js";
import { token } from "../../../support/wire.js";

const SAME = { id: 1, text: "a" };
const OTHER = { id: 2, text: "b" };
const effect = (kl, best = SAME, prob = 0.5) => ({ kl, best, logprob: Math.log(prob) });
const base = effect(0, SAME, 0.8);

test("where a head looks leaves the first token out", () => {
  const run = madeRun({
    words: ["one", " two", " three", " four"],
    promptLength: 3,
    layers: 1,
    heads: 2,
    kvHeads: 1,
    row: (_, head, query) =>
      [250, 10, 200, 30].slice(0, query + 1).map((shade, key) => (head && key === 1 ? 240 : shade)),
  });
  assert.deepEqual(pluck(looksOf(run, 0), "key"), [2, 1]);
  assert.ok(Math.abs(looksOf(run, 0)[0].share - (200 / 255) ** 2) < 1e-9);
  assert.equal(looksOf(run, 1)[0].key, 2);
});

test("a head that looks and one that matters are told apart by measurement", () => {
  const looks = [0.9, 0.1, 0.6, 0.7].map((share) => ({ share, key: 1 }));
  const effects = [effect(0.001), effect(2, OTHER, 0.01), effect(0.5), effect(0.3, OTHER)];
  const counts = { flips: 2, looking: 3, lookingFlips: 1, median: 0.4 };
  assert.deepEqual(compared(looks, effects, base), { largest: 1, ...counts, looksMost: 0, mattersMost: 1 });
  const still = compared(looks, Array(4).fill(effect(0)), base);
  assert.deepEqual([still.flips, still.mattersMost], [0, null]);
  const blind = compared(Array(4).fill({ share: 0.1, key: 1 }), effects, base);
  assert.deepEqual([blind.looking, blind.looksMost], [0, null]);
});

test("the largest effect has the deepest colour, none has the lightest", () => {
  assert.deepEqual([depth(4, 4), depth(1, 4), depth(0, 4), depth(0, 0)], [1, 0.5, 0, 0]);
  assert.deepEqual(ranked([effect(1), effect(3), effect(2)]), [1, 2, 0]);
  assert.equal(medianKl([effect(3), effect(1), effect(2)]), 2);
});

test("numbers beside a map keep apart and inside it", () => {
  for (const text of ["3 3 4", "29 29 28", "0 29 0", "5 20 11", "29 0 29"]) {
    const rows = text.split(" ").map(Number);
    const labels = apart(rows, 2, 30);
    const sorted = [...labels].sort((a, b) => a - b);
    assert.ok(sorted[0] >= 0 && sorted.at(-1) <= 29, `${rows} → ${labels}`);
    for (let at = 1; at < sorted.length; at++) assert.ok(sorted[at] - sorted[at - 1] >= 2, `${rows} → ${labels}`);
  }
  assert.deepEqual(apart([5, 20, 11], 2, 30), [5, 20, 11]);
});

test("a sentence has the numbers of its effect", () => {
  assert.equal(chance(Math.log(0.0004)), "0.04\u202f%");
  assert.equal(becomes(base, effect(1, SAME, 0.001)), "80\u202f% → 0.10\u202f%");
  const sentence = effectSentence("layer 1, head 2", token("Paris", 1), base, effect(1, { ...token("the", 2) }, 0.04));
  assert.match(sentence, /layer 1, head 2.*Paris.*80.*4\.0.*the/);
  const up = effectSentence("layer 1, head 2", token("Paris", 1), base, effect(1, SAME, 0.9));
  assert.match(up, /rises from 80.*90/);
});

const rated = (logprob, logit, foil) => ({ kl: 0.7, logprob, logit, foil: { logit: foil, logprob: -1 } });

test("a total effect is above 0 where the part speaks for the token, by every measure with a sign", () => {
  const [as, without] = [rated(-0.5, 9, 4), rated(-2, 7, 5)];
  const by = (measure) => totalOf(measure, as, without);
  assert.deepEqual([by("kl"), by("probability"), by("difference")], [0.7, 1.5, 3]);
  assert.ok(totalOf("difference", without, as) < 0);
  // An answer that an earlier version stored has no logits.
  assert.equal(totalOf("difference", effect(0), effect(1)), null);
  assert.equal(totalOf("kl", effect(0), effect(1)), 1);
});

test("a direct effect is on the token's logit less the foil's, or less the mean of all", () => {
  assert.deepEqual([directOf("difference", [3, 1, 0.5]), directOf("kl", [3, 1, 0.5])], [2, 2.5]);
});

test("a patch makes a share of the change to the other prompt, where the two differ", () => {
  const [here, there, patched] = [rated(-0.5, 9, 4), rated(-4, 3, 8), rated(-1, 6, 6)];
  assert.equal(shareOfChange("difference", here, there, patched), 0.5);
  assert.deepEqual(
    [shareOfChange("difference", here, there, here), shareOfChange("difference", here, there, there)],
    [0, 1],
  );
  assert.equal(shareOfChange("kl", here, there, patched), null);
  assert.equal(shareOfChange("difference", here, rated(-0.5, 9, 3.95), patched), null);
});

test("rank correlation is Spearman's, ties with their mean rank", () => {
  assert.equal(spearman([1, 2, 3, 4], [10, 20, 30, 40]), 1);
  assert.equal(spearman([1, 2, 3, 4], [4, 3, 2, 1]), -1);
  // scipy.stats.spearmanr([1, 2, 2, 3], [1, 3, 2, 4]).statistic
  assert.ok(Math.abs(spearman([1, 2, 2, 3], [1, 3, 2, 4]) - 0.9486832980505138) < 1e-12);
  assert.equal(spearman([1, 1, 1], [1, 2, 3]), null);
});

test("two lists agree by size, whatever the sign", () => {
  assert.deepEqual(byStrength([1, -3, 2]), [1, 2, 0]);
  const one = [9, -8, 7, 6, 5, 0.1, 0.2];
  assert.deepEqual(
    agreement(
      one,
      one.map((each) => -each),
    ),
    { rho: 1, shared: 5 },
  );
  assert.equal(agreement(one, [0.1, 8, 7, 6, 5, 9, 0.2]).shared, 4);
});

test("a total-only head has a large total and a small direct effect, a direct-only one the reverse", () => {
  const most = { totals: 2, directs: 4 };
  assert.deepEqual(
    [
      [-1, 0.1],
      [0.05, -2],
      [1, 2],
      [0, 0],
    ].map((each) => standing("difference", ...each, most)),
    ["total-only", "direct-only", null, null],
  );
  // The square root of a KL divergence: 0.05 is 16 % of the largest.
  assert.equal(standing("kl", 0.05, -2, most), null);
});

test("a shade with a sign is in the middle for nothing", () => {
  assert.deepEqual([signedShade(0, 4), signedShade(4, 4), signedShade(-4, 4), signedShade(0, 0)], [128, 255, 0, 128]);
});
