import assert from "node:assert/strict";
import { test } from "node:test";
import {
  headSentence,
  kvHeadOf,
  lookSentence,
  readersOf,
  rowWeights,
  topKeys,
  whereKeyStands,
} from "../../../../kvscope/static/shared/facts/attention.js";
import { headFocus } from "../../../../kvscope/static/stage/inspector/focus.js";
import { cacheAccount, cacheBytes } from "../../../../kvscope/static/stage/kv-cache/facts.js";
import { factsAt } from "../../../../kvscope/static/stage/map/facts.js";
import {
  columnsFor,
  mapView,
  normRanges,
  queryRange,
  waitingView,
} from "../../../../kvscope/static/stage/map/scene.js";
import { assertEach, pluck } from "../../support/lists.js";
import { madeRun } from "../../support/made-run.js";

/** Each row looks at key 1 with weight 0.64, at itself with 0.16, at the others with next to nothing. */
const row = (_layer, _head, query) =>
  Array.from({ length: query + 1 }, (_, key) => (key === 1 ? 204 : key === query ? 102 : 1));
const animal = (extra = {}) =>
  madeRun({ words: ["The", " animal", " it", " was", " too", " far"], promptLength: 4, row, ...extra });

test("a head's sentence has the measured weight, and names itself and the first token", () => {
  assert.equal(headSentence(animal(), 1, 3, 2), "Head 3 of layer 1: “it” looks most at “animal” (64 %)");
  assert.equal(headSentence(animal(), 1, 3, 1), "Head 3 of layer 1: “animal” looks most at itself (64 %)");
  assert.match(headSentence(animal(), 0, 0, 0), /first token and can look only at itself/);
});

test("a row's sentence names the keys with the largest weights, and all that come near", () => {
  const run = animal();
  const of = (query, ...weights) => lookSentence(run, query, { weights: Float32Array.from(weights) });
  assert.equal(of(0, 1), "“The” is the first token and can look only at itself");
  assert.equal(of(2, 0.3, 0.62, 0.08), "“it” looks at “animal” and “The”");
  assert.equal(of(2, 0.2, 0.7, 0.1), "“it” looks at “animal”");
  assert.equal(of(2, 0.05, 0.05, 0.9), "“it” looks at itself");
  assert.equal(of(2, 0.1, 0.3, 0.6), "“it” looks at itself and “animal”");
  assert.equal(of(2, 0.1, 0.14, 0.12), "“it” looks a little at many tokens, and most at “animal”");
  assert.equal(lookSentence(run, 2, null), "“it”");
});

test("a row's weights are exact if the model has given them, else those of the log", () => {
  const logged = rowWeights(animal(), 1, 3, 2);
  assert.equal(logged.exact, false);
  assert.ok(Math.abs(logged.weights[1] - 0.64) < 0.004);
  const weights = { shape: [3, 4], data: Float32Array.from([1, 0, 0, 0, 0.5, 0.5, 0, 0, 0.1, 0.644, 0.256, 0]) };
  const exact = { status: "ready", values: { weights }, row: 2 };
  assert.deepEqual(rowWeights(animal(), 1, 3, 2, exact), { weights: weights.data.slice(8, 11), exact: true });
  assert.equal(rowWeights(animal(), 1, 3, 2, { status: "loading", values: null, row: 2 }).exact, false);
  assert.equal(rowWeights(animal(), 1, 3, 99), null);
});

test("top keys come strongest first, and equal keys earliest first", () => {
  assert.deepEqual(pluck(topKeys(animal().row(0, 0, 4), 3), "key"), [1, 4, 0]);
  assert.deepEqual(topKeys([], 3), []);
  const row = Uint8Array.from({ length: 97 }, (_, key) => (key * 37) % 11);
  const sorted = [...row.keys()].sort((a, b) => row[b] - row[a] || a - b);
  for (const count of [1, 5, 97, 200]) assert.deepEqual(pluck(topKeys(row, count), "key"), sorted.slice(0, count));
});

test("the position of a key has a name", () => {
  const places = ["its own position", "the first token", "the previous token", "3 tokens back"];
  assertEach([5, 0, 4, 2], (key) => whereKeyStands(5, key), places);
});

test("query heads share K/V heads in equal consecutive groups", () => {
  const run = animal({ heads: 9, kvHeads: 3 });
  assertEach([0, 2, 3, 8], (head) => kvHeadOf(run, head), [0, 0, 1, 2]);
  assert.deepEqual(readersOf(run, 2), [6, 8]);
});

test("a pixel with several cells shows the strongest, and says so", () => {
  const facts = factsAt(animal(), 1, { group: "attention", layer: 1, head: 2, keys: [0, 3], queries: [4, 4] });
  assert.deepEqual(facts.place, { layer: 1, head: 2, query: 4, key: 1 });
  assert.equal(facts.value, "weight 0.640 ± 0.004");
  assert.ok(facts.notes.some((note) => note.includes("keys 0–3")));
});

test("a masked cell has no weight and no key", () => {
  const facts = factsAt(animal(), 0, { group: "attention", layer: 0, head: 0, keys: [3, 3], queries: [1, 1] });
  assert.equal(facts.value, "no weight");
  assert.deepEqual(facts.place, { layer: 0, head: 0 });
});

test("a cache cell says when it was written, its block and slot, and which heads read it", () => {
  const at = { group: "cache", layer: 1, kind: "V", kvHead: 1, positions: [4, 4] };
  const { title, notes, place } = factsAt(animal(), 2, at);
  assert.equal(title, "V of “too”, position 4, layer 1, KV head 1");
  assert.deepEqual(notes.slice(0, 2), ["in the cache since step 1", "block 8, slot 0; read by heads 2–3"]);
  assert.deepEqual(place, { layer: 1, kvHead: 1, key: 4 });
});

test("a residual row of this step is computed in it, an older one is from the log", () => {
  const at = (position) =>
    factsAt(animal(), 1, { group: "residual", layer: 0, positions: [position, position] }).notes[0];
  assert.match(at(4), /^computed in this step/);
  assert.match(at(2), /log.*after step 0/);
});

test("the cache's measured bytes are compared with the formula", () => {
  const good = cacheAccount(animal(), 1);
  assert.deepEqual(good.used, { measured: 1280, formula: 1280 });
  assert.deepEqual(good.written, { measured: 256, formula: 256 });
  assert.equal(good.reserved.measured, good.reserved.formula);
  assert.deepEqual(pluck(good.blocks, "filled"), [4, 1]);

  const run = animal();
  run.steps[1].data.kv.bytes_used = 1276;
  assert.notEqual(cacheAccount(run, 1).used.measured, cacheAccount(run, 1).used.formula);
});

test("the formula gives the known figure of Llama-3-8B", () => {
  const llama = { layers: 32, kv_heads: 8, head_dim: 128, element_bytes: 2 };
  assert.equal(cacheBytes(llama, 1), 131072);
  assert.equal(cacheBytes(llama, 8192), 1073741824);
});

test("the map's layout changes only a few times in a run", () => {
  const layouts = new Set(Array.from({ length: 768 }, (_, i) => columnsFor(i + 1, 16)));
  assert.deepEqual([...layouts], [16, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768]);
});

test("scales of length come from the prompt alone, so they do not change while the run grows", () => {
  const long = animal();
  const short = animal({ words: ["The", " animal", " it", " was"] });
  assert.deepEqual(normRanges(long), normRanges(short));
  assert.deepEqual(queryRange(long), queryRange(short));
});

test("before the first step is complete, the map has the layout of that step", () => {
  const { row, q, reserved, lacks, firstHeld, firstKey, ...known } = mapView(animal(), 0);
  assert.deepEqual(waitingView(animal()), { ...known, reserved: 0 });
});

test("a step's view shows its positions, not those of later steps", () => {
  const view = mapView(animal(), 1);
  assert.deepEqual([view.positions, view.firstQuery, view.prefill, view.reserved], [5, 4, false, 8]);
});

const focusOf = ({ selection, ...parts }) => {
  const selected = { layer: 0, head: 0, query: null, key: null, ...selection };
  return headFocus({ run: animal(), step: 2, hover: null, ...parts, selection: selected });
};

test("without a lock, the focus is the newest row and its strongest key", () => {
  assert.deepEqual(focusOf({}), { layer: 0, head: 0, newest: 5, query: 5, key: 1, locked: false, preview: false });
});

test("a lock after the playhead falls back to the newest row", () => {
  const focus = focusOf({ step: 0, selection: { query: 5, key: 5 } });
  assert.deepEqual([focus.query, focus.key, focus.locked], [3, 1, false]);
});

test("hovering another head previews it and keeps the lock", () => {
  const focus = focusOf({ selection: { query: 2, key: 0 }, hover: { layer: 1, head: 3, query: 4, key: 2 } });
  assert.deepEqual([focus.layer, focus.head, focus.query, focus.key, focus.preview], [1, 3, 4, 2, true]);
  assert.equal(focusOf({ selection: { query: 2, key: 0 }, hover: { layer: 1, query: 3 } }).preview, false);
});

test("before the first step the focus is on the last row of the prompt, without a key", () => {
  const awaited = { ...animal(), awaited: true, steps: [] };
  const focus = focusOf({ run: awaited, step: 0, selection: { layer: 1, head: 3, query: 5, key: 5 } });
  assert.deepEqual(focus, { layer: 1, head: 3, newest: 3, query: 3, key: null, locked: false, preview: false });
});
