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

/** The state after these actions. */
function after(store, ...actions) {
  for (const action of actions) store.dispatch(action);
  return store.state();
}

const seek = (step) => ({ type: "seek", step });
const tick = (step, progress) => ({ type: "tick", playhead: { step, progress } });
const PLAY = { type: "play" };
const WALK = { type: "walk", change: 1 };
const closed = (reason) => ({ run: "r1", seq: 6, kind: "close", data: { reason }, tensors: {} });

test("the phase says in one word what the page is doing", () => {
  const readiness = (state) => after(createStore(), { type: "readiness", readiness: { state } }).phase;
  assert.deepEqual(
    [createStore().state().phase, readiness("ready"), readiness("failed")],
    ["loading", "idle", "error"],
  );
  assert.equal(openStore({ frames: 2 }).state().phase, "loading");
  assert.equal(openStore({ playing: true }).state().phase, "running");
  assert.equal(openStore().state().phase, "paused");
  assert.equal(after(openStore(), seek(2)).phase, "done");
  assert.equal(after(openStore({ frames: 8 }), seek(2)).phase, "paused");
});

test("an interrupted run is an error where it broke off, and can be watched before", () => {
  const store = openStore({ frames: 6 });
  store.state().run.push(closed("interrupted"));
  assert.equal(after(store, { type: "grew" }).phase, "paused");
  assert.equal(after(store, seek(1)).phase, "error");
});

test("a step or selection outside the run is brought inside", () => {
  const store = openStore();
  const beyond = { type: "select", selection: { layer: 40, head: -2, query: 90, key: 91 } };
  const { step, selection } = after(store, seek(99), beyond);
  assert.deepEqual([step, selection], [2, { layer: 1, head: 0, query: 4, key: 4, view: "head", focus: null }]);
  assert.equal(after(store, seek(-1)).step, 0);
});

test("entering a view selects it and counts, so that focus can follow; choosing it does not count", () => {
  const store = openStore();
  assert.equal(after(store, { type: "select", selection: { view: "head" } }).entered, 0);
  const { entered, selection } = after(store, { type: "enter", selection: { view: "pair", query: 2, key: 1 } });
  assert.deepEqual([entered, selection.view, selection.query, selection.key], [1, "pair", 2, 1]);
});

test("play at the end of a finished run begins again; in the middle it goes on", () => {
  const store = openStore();
  const { step, progress } = after(store, seek(2), PLAY);
  assert.deepEqual([step, progress, after(store, seek(1), PLAY).step], [0, 0, 1]);
});

test("playing ends with the run, not with the last step known so far", () => {
  assert.equal(after(openStore({ frames: 8, playing: true }), tick(2, 1)).playing, true);
  const { playing, phase } = after(openStore({ playing: true }), tick(2, 1));
  assert.deepEqual([playing, phase], [false, "done"]);
});

test("any input shows the whole step at once", () => {
  const shown = ({ reveal, step, playing }) => [reveal, step, playing];
  const store = openStore({ playing: true });
  assert.ok(after(store, tick(1, 0.2)).reveal < 2);
  assert.deepEqual(shown(after(store, { type: "fastForward" })), [2, 1, true]);
  const stepping = openStore();
  assert.equal(after(stepping, { type: "show", step: 1 }).reveal, 0);
  assert.deepEqual(shown(after(stepping, { type: "fastForward" })), [2, 1, false]);
});

test("a walk stands at a layer, shows just those up to it, and takes the layer in sight along", () => {
  const store = openStore({ playing: true });
  const shown = ({ step, layerStop, reveal, selection, playing }) => [
    step,
    layerStop,
    reveal,
    selection.layer,
    playing,
  ];
  assert.deepEqual(shown(after(store, seek(0), WALK)), [1, 1, 1, 0, false]);
  assert.deepEqual(shown(after(store, { type: "fastForward" }, WALK)), [1, 2, 2, 1, false]);
  assert.deepEqual(shown(after(store, WALK)), [1, null, 2, 1, false]);
  assert.equal(store.state().progress, 1);
});

test("a walk is a walk with reduced motion too, and playing goes on from where it stands", () => {
  const store = openStore({ reducedMotion: true });
  assert.equal(after(store, WALK).reveal, 1);
  const { layerStop, progress } = after(store, PLAY);
  assert.equal(layerStop, null);
  assert.ok(progress > 0 && progress < 1);
});

for (const action of [
  { type: "pause" },
  seek(0),
  { type: "show", step: 1 },
  { type: "follow" },
  { type: "opened", run: new Run("r2"), playing: false },
])
  test(`${action.type} ends a walk`, () => assert.equal(after(openStore(), WALK, action).layerStop, null));

test("without a run there is nothing to walk", () => assert.equal(after(createStore(), WALK).layerStop, null));

test("with reduced motion layers do not rise", () => {
  assert.equal(after(openStore({ reducedMotion: true }), { type: "show", step: 1 }).reveal, 2);
});

test("a run's settings are taken over until the viewer has written their own", () => {
  const open = { prompt: "theirs", chat: true, sampling: { strategy: "sample" }, limits: { max_new_tokens: 9 } };
  const store = createStore();
  const { prompt, maxNewTokens } = after(store, { type: "settingsOfRun", open });
  assert.deepEqual([prompt, maxNewTokens], ["theirs", 9]);
  assert.equal(after(store, { type: "prompt", prompt: "mine" }, { type: "settingsOfRun", open }).prompt, "mine");
});

test("a what-if is about the run in sight and leaves the next run's settings alone", () => {
  const store = openStore();
  const { sampling, run } = store.state();
  const warm = { type: "whatIf", patch: { strategy: "sample", temperature: 1.5 } };
  const four = { type: "whatIf", patch: { top_k: 4 } };
  const { whatIf } = after(store, warm, four);
  assert.deepEqual(whatIf, { ...run.open.sampling, strategy: "sample", temperature: 1.5, top_k: 4 });
  assert.equal(store.state().sampling, sampling);
  assert.equal(after(store, { type: "whatIf", patch: null }).whatIf, null);
  assert.equal(after(store, four, { type: "opened", run: new Run("r2"), playing: false }).whatIf, null);
});

test("settings chosen for the next run outlive the opening of another", () => {
  const store = openStore();
  const chosen = { type: "sampling", patch: { temperature: 0.3 } };
  const opened = { type: "settingsOfRun", open: store.state().run.open };
  assert.equal(after(store, chosen, opened).sampling.temperature, 0.3);
});

test("a problem keeps the run, the prompt and the settings", () => {
  const store = openStore();
  const before = after(store, { type: "prompt", prompt: "mine" });
  const { run, prompt, sampling } = after(store, { type: "problem", problem: { title: "no" } });
  assert.ok(run === before.run && prompt === "mine" && sampling === before.sampling);
});

test("a branch that is being started is over with its run opened, or with a problem", () => {
  const store = openStore();
  const starting = { type: "branching", token: { id: 8 } };
  assert.deepEqual(after(store, starting).branching, { id: 8 });
  assert.equal(after(store, { type: "problem", problem: { title: "no" } }).branching, null);
  assert.equal(after(store, starting).problem, null);
  const opened = { type: "opened", run: new Run("r2"), playing: false, view: "tokens" };
  const { branching, selection } = after(store, opened);
  assert.deepEqual([branching, selection.view], [null, "tokens"]);
});

test("an unknown action is refused", () => {
  assert.throws(() => reduce(createStore().state(), { type: "nothing" }), RangeError);
});

test("a viewer who follows is at the newest step as soon as it is there, one who does not stays", () => {
  for (const follows of [true, false]) {
    const store = openStore({ frames: 4, playing: true });
    const { run, step } = after(store, ...(follows ? [{ type: "follow" }] : []));
    const before = run.steps.length;
    for (const payload of smallRun().slice(4)) run.push(decodeFrame(payload));
    assert.ok(run.steps.length > before);
    assert.equal(after(store, { type: "grew" }).step, follows ? run.steps.length - 1 : step);
  }
});

test("a playhead that rests on the newest step when the run is closed there has come to its end", () => {
  for (const goes of ["play", "follow"]) {
    const live = openStore({ frames: 6, playing: true });
    assert.equal(after(live, { type: goes }, tick(1, 1)).phase, "running");
    live.state().run.push(closed("stopped"));
    const { phase, playing, following } = after(live, { type: "grew" });
    assert.deepEqual([phase, playing, following], ["done", false, false]);
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
