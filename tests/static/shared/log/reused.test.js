import assert from "node:assert/strict";
import { test } from "node:test";
import { isComputedIn } from "../../../../kvscope/static/shared/facts/step-rows.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { headFocus } from "../../../../kvscope/static/stage/inspector/focus.js";
import { cacheAccount } from "../../../../kvscope/static/stage/kv-cache/facts.js";
import { shelfOf } from "../../../../kvscope/static/stage/kv-cache/shelf-columns.js";
import {
  addRows,
  emptyTally,
  headsWorthSeeing,
} from "../../../../kvscope/static/stage/look-here/heads-worth-seeing.js";
import { factsAt } from "../../../../kvscope/static/stage/map/facts.js";
import { mapView, normRanges } from "../../../../kvscope/static/stage/map/scene.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { timeFacts } from "../../../../kvscope/static/stage/time/facts.js";
import { narrate } from "../../../../kvscope/static/stage/timeline/narration.js";
import { blockScene } from "../../../../kvscope/static/stage/views/block/scene.js";
import { sentence } from "../../../../kvscope/static/stage/views/block/words.js";
import { assertEach, columns } from "../../support/lists.js";
import { madeRun } from "../../support/made-run.js";
import { smallRun, token } from "../../support/wire.js";

/** Two of the prompt's four tokens were read from the cache. */
const run = madeRun({
  words: ["The", " cat", " sat", " on", " it", " now"],
  promptLength: 4,
  reused: 2,
  row: (_layer, _head, query) => new Array(query + 1).fill(255).map((shade, key) => (key === 0 ? shade : 0)),
  steps: { 0: { token: { ...token(" it"), prob: 0.5 } } },
});

test("a run that reused rows has the rows that it computed, each at its position", () => {
  const folded = new Run("r1");
  const frames = smallRun({ read: true }).map(decodeFrame);
  for (const frame of frames.slice(0, 2)) folded.push(frame);
  assert.deepEqual([folded.reused, folded.prefillRows, folded.partialRows, folded.positions], [2, 1, 1, 0]);
  for (const frame of frames.slice(2)) folded.push(frame);
  assert.deepEqual(columns(folded.steps, "firstQuery", "rows"), { firstQuery: [2, 3, 4], rows: [1, 1, 1] });
  assert.equal(folded.row(0, 0, 1), null);
  assert.equal(folded.kNorm(0, 0, 1), null);
  assert.equal(folded.row(0, 0, 2).length, 3);
  assertEach([1, 2, 3], (position) => isComputedIn(folded, 0, position), [false, true, false]);
  assertEach([1, 2, 3], (position) => folded.rowInStep(position), [1, 2, 0]);
});

test("the first computed row can be chosen, a reused row cannot", () => {
  const folded = new Run("r1");
  for (const frame of smallRun({ read: true }).map(decodeFrame)) folded.push(frame);
  const store = createStore();
  store.dispatch({ type: "opened", run: folded, playing: false });
  store.dispatch({ type: "select", selection: { layer: 0, head: 0, query: 0, key: 0 } });
  assert.equal(store.state().selection.query, 2);
  assert.deepEqual([headFocus(store.state()).query, headFocus(store.state()).key], [2, 0]);
});

test("one sentence says how many tokens of the prompt were reused and how many were computed", () => {
  assert.match(narrate(run, 0), /2 of the 4 prompt tokens .* earlier run.*computes 2 tokens .* 512.B/);
});

test("the first step has the computed rows after the reused ones", () => {
  const view = mapView(run, 0);
  assert.deepEqual([view.firstQuery, view.positions, view.reused], [2, 4, 2]);
  const { cached, fresh } = shelfOf({ run, step: 0, settled: 0, reveal: run.layers });
  assert.deepEqual([cached, fresh], [2, 2]);
  const { written } = cacheAccount(run, 0);
  assert.equal(written.measured, written.formula);
  assert.equal(timeFacts(run, 0).prefill.tokens, 2);
});

test("scales use the computed rows only", () => {
  const { k } = normRanges(run);
  assert.ok(k.low >= 3, `the least length of a row that was computed is 3, not ${k.low}`);
});

test("the place of a reused row says so, and has no length", () => {
  const column = factsAt(run, 0, { group: "residual", layer: 0, positions: [1, 1] });
  assert.equal(column.value, "The log does not have its length.");
  assert.match(column.notes[0], /not computed in this run/);
  const key = factsAt(run, 2, { group: "cache", layer: 0, kind: "K", kvHead: 0, positions: [0, 0] });
  assert.match(key.notes[0], /an earlier run computed it/);
  const look = factsAt(run, 0, { group: "attention", layer: 0, head: 0, keys: [0, 0], queries: [1, 1] });
  assert.equal(look.value, "read from the cache");
});

test("heads are measured over the computed rows", () => {
  const tally = emptyTally(run);
  for (const _ of addRows(tally, run, run.positions)) assert.ok(true);
  const first = headsWorthSeeing(tally, run).find(({ kind }) => kind === "first");
  assert.equal(first.share, 1);
  assert.match(first.sentence, /4 queries/);
});

test("an opened layer counts the columns that were cached before", () => {
  const scene = blockScene(run, { layer: 1, query: 3 }, null);
  assert.deepEqual([scene.rows, scene.cachedBefore, scene.positions], [2, 2, 4]);
  const said = sentence(scene);
  assert.match(said.strong, /2 rows, one per token, go through layer 1 at once/);
  assert.match(said.text, /number 4 of 4/);
  assert.match(said.cached, /2 tokens reused from an earlier run/);
});
