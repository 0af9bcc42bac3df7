import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { createStore, reduce } from "../../../../kvscope/static/stage/state/store.js";
import { smallRun } from "../../support/wire.js";

function openStore({ frames = smallRun().length, playing = false, ...overrides } = {}) {
  const run = new Run("r1");
  const store = createStore({ readiness: { state: "ready" }, ...overrides });
  store.dispatch({ type: "opened", run, playing });
  for (const payload of smallRun().slice(0, frames)) run.push(decodeFrame(payload));
  store.dispatch({ type: "grew" });
  return store;
}

const phaseAfter = (store, ...actions) => {
  for (const action of actions) store.dispatch(action);
  return store.state().phase;
};

test("the phase says in one word what the page is doing", () => {
  assert.equal(createStore().state().phase, "loading");
  assert.equal(phaseAfter(createStore(), { type: "readiness", readiness: { state: "ready" } }), "idle");
  assert.equal(phaseAfter(createStore(), { type: "readiness", readiness: { state: "failed" } }), "error");
  assert.equal(openStore({ frames: 2 }).state().phase, "loading");
  assert.equal(openStore({ playing: true }).state().phase, "running");
  assert.equal(openStore().state().phase, "paused");
  assert.equal(phaseAfter(openStore(), { type: "seek", step: 2 }), "done");
  assert.equal(phaseAfter(openStore({ frames: 8 }), { type: "seek", step: 2 }), "paused");
});

test("an interrupted run is an error where it broke off, and can be watched before", () => {
  const store = openStore({ frames: 6 });
  store.state().run.push({ run: "r1", seq: 6, kind: "close", data: { reason: "interrupted" }, tensors: {} });
  assert.equal(phaseAfter(store, { type: "grew" }), "paused");
  assert.equal(phaseAfter(store, { type: "seek", step: 1 }), "error");
});

test("a step or selection outside the run is brought inside", () => {
  const store = openStore();
  store.dispatch({ type: "seek", step: 99 });
  store.dispatch({ type: "select", selection: { layer: 40, head: -2, query: 90, key: 91 } });
  assert.equal(store.state().step, 2);
  assert.deepEqual(store.state().selection, { layer: 1, head: 0, query: 4, key: 4, view: "head" });
  store.dispatch({ type: "seek", step: -1 });
  assert.equal(store.state().step, 0);
});

test("entering a view selects it and counts, so that focus can follow; choosing it does not count", () => {
  const store = openStore();
  store.dispatch({ type: "select", selection: { view: "head" } });
  assert.equal(store.state().entered, 0);
  store.dispatch({ type: "enter", selection: { view: "pair", query: 2, key: 1 } });
  const { entered, selection } = store.state();
  assert.deepEqual([entered, selection.view, selection.query, selection.key], [1, "pair", 2, 1]);
});

test("play at the end of a finished run begins again; in the middle it goes on", () => {
  const store = openStore();
  store.dispatch({ type: "seek", step: 2 });
  store.dispatch({ type: "play" });
  assert.deepEqual([store.state().step, store.state().progress], [0, 0]);
  store.dispatch({ type: "seek", step: 1 });
  store.dispatch({ type: "play" });
  assert.equal(store.state().step, 1);
});

test("playing ends with the run, not with the last step known so far", () => {
  const live = openStore({ frames: 8, playing: true });
  live.dispatch({ type: "tick", playhead: { step: 2, progress: 1 } });
  assert.equal(live.state().playing, true);
  const finished = openStore({ playing: true });
  finished.dispatch({ type: "tick", playhead: { step: 2, progress: 1 } });
  assert.equal(finished.state().playing, false);
  assert.equal(finished.state().phase, "done");
});

test("any input shows the whole step at once", () => {
  const playing = openStore({ playing: true });
  playing.dispatch({ type: "tick", playhead: { step: 1, progress: 0.2 } });
  assert.ok(playing.state().reveal < 2);
  playing.dispatch({ type: "fastForward" });
  assert.deepEqual([playing.state().reveal, playing.state().step, playing.state().playing], [2, 1, true]);
  const stepping = openStore();
  stepping.dispatch({ type: "show", step: 1 });
  assert.equal(stepping.state().reveal, 0);
  stepping.dispatch({ type: "fastForward" });
  assert.deepEqual([stepping.state().reveal, stepping.state().step], [2, 1]);
});

test("a walk stands at a layer, shows just those up to it, and takes the layer in sight along", () => {
  const store = openStore({ playing: true });
  store.dispatch({ type: "seek", step: 0 });
  store.dispatch({ type: "walk", change: 1 });
  const shown = () => {
    const { step, layerStop, reveal, selection, playing } = store.state();
    return [step, layerStop, reveal, selection.layer, playing];
  };
  assert.deepEqual(shown(), [1, 1, 1, 0, false]);
  store.dispatch({ type: "fastForward" });
  store.dispatch({ type: "walk", change: 1 });
  assert.deepEqual(shown(), [1, 2, 2, 1, false]);
  store.dispatch({ type: "walk", change: 1 });
  assert.deepEqual(shown(), [1, null, 2, 1, false]);
  assert.equal(store.state().progress, 1);
});

test("a walk is a walk with reduced motion too, and playing goes on from where it stands", () => {
  const store = openStore({ reducedMotion: true });
  store.dispatch({ type: "walk", change: 1 });
  assert.equal(store.state().reveal, 1);
  store.dispatch({ type: "play" });
  assert.equal(store.state().layerStop, null);
  assert.ok(store.state().progress > 0 && store.state().progress < 1);
});

for (const action of [
  { type: "pause" },
  { type: "seek", step: 0 },
  { type: "show", step: 1 },
  { type: "follow" },
  { type: "opened", run: new Run("r2"), playing: false },
]) {
  test(`${action.type} ends a walk`, () => {
    const store = openStore();
    store.dispatch({ type: "walk", change: 1 });
    store.dispatch(action);
    assert.equal(store.state().layerStop, null);
  });
}

test("without a run there is nothing to walk", () => {
  const store = createStore();
  store.dispatch({ type: "walk", change: 1 });
  assert.equal(store.state().layerStop, null);
});

test("with reduced motion layers do not rise", () => {
  const store = openStore({ reducedMotion: true });
  store.dispatch({ type: "show", step: 1 });
  assert.equal(store.state().reveal, 2);
});

test("a run's settings are taken over until the viewer has written their own", () => {
  const open = { prompt: "theirs", chat: true, sampling: { strategy: "sample" }, limits: { max_new_tokens: 9 } };
  const store = createStore();
  store.dispatch({ type: "settingsOfRun", open });
  assert.deepEqual([store.state().prompt, store.state().maxNewTokens], ["theirs", 9]);
  store.dispatch({ type: "prompt", prompt: "mine" });
  store.dispatch({ type: "settingsOfRun", open });
  assert.equal(store.state().prompt, "mine");
});

test("a what-if is about the run in sight and leaves the next run's settings alone", () => {
  const store = openStore();
  const { sampling } = store.state();
  store.dispatch({ type: "whatIf", patch: { strategy: "sample", temperature: 1.5 } });
  store.dispatch({ type: "whatIf", patch: { top_k: 4 } });
  assert.deepEqual(store.state().whatIf, {
    ...store.state().run.open.sampling,
    strategy: "sample",
    temperature: 1.5,
    top_k: 4,
  });
  assert.equal(store.state().sampling, sampling);
  store.dispatch({ type: "whatIf", patch: null });
  assert.equal(store.state().whatIf, null);
  store.dispatch({ type: "whatIf", patch: { top_k: 4 } });
  store.dispatch({ type: "opened", run: new Run("r2"), playing: false });
  assert.equal(store.state().whatIf, null);
});

test("settings chosen for the next run outlive the opening of another", () => {
  const store = openStore();
  store.dispatch({ type: "sampling", patch: { temperature: 0.3 } });
  store.dispatch({ type: "settingsOfRun", open: store.state().run.open });
  assert.equal(store.state().sampling.temperature, 0.3);
});

test("a problem keeps the run, the prompt and the settings", () => {
  const store = openStore();
  store.dispatch({ type: "prompt", prompt: "mine" });
  const { run, sampling } = store.state();
  store.dispatch({ type: "problem", problem: { title: "no" } });
  assert.equal(store.state().run, run);
  assert.equal(store.state().prompt, "mine");
  assert.equal(store.state().sampling, sampling);
});

test("a branch that is being started is over with its run opened, or with a problem", () => {
  const store = openStore();
  store.dispatch({ type: "branching", token: { id: 8 } });
  assert.deepEqual(store.state().branching, { id: 8 });
  store.dispatch({ type: "problem", problem: { title: "no" } });
  assert.equal(store.state().branching, null);
  store.dispatch({ type: "branching", token: { id: 8 } });
  assert.equal(store.state().problem, null);
  store.dispatch({ type: "opened", run: new Run("r2"), playing: false, view: "tokens" });
  assert.deepEqual([store.state().branching, store.state().selection.view], [null, "tokens"]);
});

test("an unknown action is refused", () => {
  assert.throws(() => reduce(createStore().state(), { type: "nothing" }), RangeError);
});

test("a viewer who follows is at the newest step as soon as it is there, one who does not stays", () => {
  for (const follows of [true, false]) {
    const store = openStore({ frames: 4, playing: true });
    if (follows) store.dispatch({ type: "follow" });
    const { run, step } = store.state();
    const before = run.steps.length;
    for (const payload of smallRun().slice(4)) run.push(decodeFrame(payload));
    assert.ok(run.steps.length > before);
    store.dispatch({ type: "grew" });
    assert.equal(store.state().step, follows ? run.steps.length - 1 : step);
  }
});

test("a playhead that rests on the newest step when the run is closed there has come to its end", () => {
  for (const goes of ["play", "follow"]) {
    const live = openStore({ frames: 6, playing: true });
    live.dispatch({ type: goes });
    live.dispatch({ type: "tick", playhead: { step: 1, progress: 1 } });
    assert.equal(live.state().phase, "running");
    live.state().run.push({ run: "r1", seq: 6, kind: "close", data: { reason: "stopped" }, tensors: {} });
    live.dispatch({ type: "grew" });
    assert.deepEqual([live.state().phase, live.state().playing, live.state().following], ["done", false, false]);
  }
});

test("whoever has unsubscribed hears of nothing more", () => {
  const store = createStore();
  const heard = [];
  const leave = store.subscribe(() => heard.push("left"));
  store.subscribe(() => heard.push("stays"));
  leave();
  store.dispatch({ type: "speed", speed: 2 });
  assert.deepEqual(heard, ["stays"]);
});
