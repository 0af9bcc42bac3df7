import assert from "node:assert/strict";
import { test } from "node:test";
import { introIsOver, momentInSight, momentsOf } from "../../../../kvscope/static/shared/state/intro.js";
import { moves, nextPlayhead } from "../../../../kvscope/static/shared/state/player.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";

const stepOf = { data: { phase: "decode", ms: { total: 50 } } };
const runOf = (steps, close = null) => ({
  ...{ open: { model: { layers: 2, heads: 1, kv_heads: 1 } }, layers: 2, heads: 1 },
  ...{ positions: 3 + steps, steps: Array(steps).fill(stepOf), close },
});
const LOOK = { layer: 1, head: 0, query: 2, key: 1 };
const ENDED = { reason: "length" };
const SELECTION = { layer: 0, head: 0, query: null, key: null, view: "intro" };
const introOf = (run, more = {}) => createStore({ run, look: LOOK, selection: SELECTION, ...more });
const tick = (store, ms) => store.dispatch({ type: "tick", playhead: nextPlayhead(store.state(), ms) });

test("a moment is available as soon as the run has its content", () => {
  const names = (run, look = LOOK) => momentsOf({ run, look }).join(" ");
  assert.equal(names(null), "sentence");
  assert.equal(names(runOf(0)), "sentence");
  assert.equal(names(runOf(1)), "sentence prefill look choice");
  assert.equal(names(runOf(2)), "sentence prefill look choice cache decode");
  assert.equal(names(runOf(3)), "sentence prefill look choice cache decode again");
  assert.equal(names(runOf(3, ENDED)), "sentence prefill look choice cache decode again pace without");
  assert.equal(names(runOf(2, ENDED)), "sentence prefill look choice cache decode pace without");
});

test("without a look, or without decode, the other moments are there", () => {
  const whole = runOf(3, ENDED);
  const unseen = momentsOf({ run: whole, look: LOOK }).filter((name) => name !== "look");
  assert.deepEqual(momentsOf({ run: whole, look: null }), unseen);
  assert.deepEqual(momentsOf({ run: runOf(1, ENDED), look: null }), ["sentence", "prefill", "choice"]);
});

test("a twin or beam search has no moments about the cache", () => {
  const run = runOf(3, ENDED);
  run.open.study = { kind: "twin", cache: "none" };
  assert.deepEqual(momentsOf({ run, look: LOOK }), ["sentence", "prefill", "look", "choice"]);
});

test("playing goes through every moment in three quarters of a minute and stops at the last", () => {
  const store = introOf(runOf(3, ENDED), { intro: { moment: 0, progress: 0 } });
  store.dispatch({ type: "play" });
  const seen = [];
  let ms = 0;
  while (store.state().playing && ms < 60_000) {
    const moment = momentInSight(store.state());
    if (seen.at(-1) !== moment) seen.push(moment);
    tick(store, 100);
    ms += 100;
  }
  assert.deepEqual(seen, momentsOf(store.state()));
  assert.ok(ms >= 40_000 && ms <= 46_000, `${ms} ms`);
  assert.equal(introIsOver(store.state()), true);
  assert.equal(store.state().step, 0, "the steps' own playhead stands");
  store.dispatch({ type: "play" });
  assert.deepEqual(store.state().intro, { moment: 0, progress: 0 }, "from the beginning again");
});

test("playing waits for a growing run, then continues", () => {
  const run = runOf(1);
  const store = introOf(run, { intro: { moment: 3, progress: 0.99 } });
  store.dispatch({ type: "play" });
  tick(store, 10_000);
  assert.deepEqual([momentInSight(store.state()), store.state().intro.progress], ["choice", 1]);
  assert.equal(store.state().playing, true);
  run.steps.push(stepOf);
  store.dispatch({ type: "grew" });
  tick(store, 100);
  assert.equal(momentInSight(store.state()), "cache");
});

test("a requested moment is shown to its end and no further", () => {
  const store = introOf(runOf(3, ENDED));
  store.dispatch({ type: "moment", moment: 2, progress: 0 });
  assert.equal(moves(store.state()), true);
  tick(store, 60_000);
  assert.deepEqual(store.state().intro, { moment: 2, progress: 1 });
  assert.equal(moves(store.state()), false);
});

test("moments out of bounds are clamped", () => {
  const store = introOf(runOf(3, ENDED));
  store.dispatch({ type: "moment", moment: 99 });
  assert.equal(momentInSight(store.state()), "without");
  store.dispatch({ type: "moment", moment: -1 });
  assert.equal(momentInSight(store.state()), "sentence");
});

test("pausing shows the whole moment, and leaves the steps unchanged", () => {
  const store = introOf(runOf(3, ENDED), { intro: { moment: 1, progress: 0.4 }, step: 2, progress: 0.5 });
  store.dispatch({ type: "pause" });
  const { intro, step, progress, playing } = store.state();
  assert.deepEqual([intro, step, progress, playing], [{ moment: 1, progress: 1 }, 2, 0.5, false]);
});

test("a pointer or key does not skip what plays", () => {
  const store = introOf(runOf(3, ENDED), { intro: { moment: 1, progress: 0.4 }, playing: true });
  store.dispatch({ type: "fastForward" });
  assert.deepEqual(store.state().intro, { moment: 1, progress: 0.4 });
});
