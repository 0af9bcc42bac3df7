import assert from "node:assert/strict";
import { test } from "node:test";
import {
  apart,
  compared,
  depth,
  looksOf,
  medianKl,
  ranked,
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
