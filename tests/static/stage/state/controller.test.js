import assert from "node:assert/strict";
import { test } from "node:test";
import { switchedOff } from "../../../../kvscope/static/shared/facts/changes.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Problem } from "../../../../kvscope/static/shared/log/problem.js";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";
import { createController } from "../../../../kvscope/static/stage/state/controller.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { settled, turn } from "../../support/turns.js";
import { encode, smallRun, token } from "../../support/wire.js";

const FRAMES = smallRun().map(decodeFrame);
const LIMITS = {
  run: {
    ...{ prompt: [1, 8192], max_new_tokens: [1, 256], temperature: [0, 5] },
    ...{ top_k: [0, 1000], top_p: [0, 1], seed: [0, 2 ** 31 - 1] },
  },
};

function harness({
  states = ["ready"],
  start = async () => ({ id: "r1" }),
  fork = async () => ({ id: "b1" }),
  change = async () => ({ id: "c1" }),
  status = "running",
  mine = true,
  saved = null,
  here = null,
  facts = {},
} = {}) {
  const calls = [];
  const watches = [];
  const client = {
    readiness: async () => {
      const state = states.length > 1 ? states.shift() : states[0];
      return typeof state === "string" ? { state, message: "why" } : state;
    },
    start: async (settings) => {
      calls.push(["start", settings.prompt]);
      return start();
    },
    fork: (run, choice) => {
      calls.push(["fork", run, choice]);
      return fork();
    },
    change: (run, asked) => {
      calls.push(["change", run, asked]);
      return change();
    },
    here,
    control: async (run, action) => calls.push([action, run]),
    status: async () => ({ status }),
    isMine: () => mine,
    watch: (id, after, handlers) => {
      watches.push({ id, after, handlers });
      return () => calls.push(["stop watching", id]);
    },
  };
  const storage = storageOr(() => null);
  const store = createStore({ limits: LIMITS, ...facts });
  const controller = createController({ store, client, saved, storage, delay: turn });
  const bring = (from, to, run = "r1") => {
    for (const frame of FRAMES.slice(from, to)) watches.at(-1).handlers.onFrame({ ...frame, run });
  };
  const named = (...names) => calls.filter(([name]) => names.includes(name));
  const controls = () => calls.filter(([name]) => !["start", "stop watching"].includes(name));
  return { client, store, controller, calls, named, controls, watches, bring };
}

/** Opens another's run by a link, and brings its first frames. */
async function openRun(frames, link = {}, options = {}) {
  const parts = harness(options);
  parts.controller.begin("r1", link);
  await settled();
  parts.bring(0, frames);
  return parts;
}

/** Begins on the page without a run, with a prompt. */
async function typed(prompt, options = {}) {
  const parts = harness(options);
  parts.controller.begin(null, {});
  await settled();
  parts.store.dispatch({ type: "prompt", prompt });
  return parts;
}

async function ownRun(frames = 6) {
  const parts = await typed("hello");
  parts.controller.submit();
  await settled();
  parts.bring(0, frames);
  return parts;
}

test("a prompt sent while the model loads is kept, and starts once when it is ready", async () => {
  const { store, controller, calls } = harness({ states: ["loading", "loading", "loading", "ready"] });
  controller.begin(null, {});
  store.dispatch({ type: "prompt", prompt: "hello" });
  controller.submit();
  assert.equal(store.state().held, true);
  await settled();
  assert.deepEqual(calls, [["start", "hello"]]);
  assert.equal(store.state().held, false);
});

test("a run that is started opens in the view that was open", async () => {
  const { store, controller, bring } = await typed("hello");
  store.dispatch({ type: "select", selection: { view: "tokens" } });
  controller.submit();
  await settled();
  bring(0, 1);
  assert.equal(store.state().selection.view, "tokens");
  controller.dispose();
});

test("a head that was chosen stays selected in the next run, a changed run and a branch; the page suggests one only to who chose none", async () => {
  const headOf = ({ store }) => [store.state().selection.layer, store.state().selection.head];
  const begins = {
    run: ({ controller }) => controller.submit(),
    change({ store, controller }) {
      store.dispatch({ type: "addChange", change: switchedOff("head", { layer: 1, head: 0 }) });
      return controller.change();
    },
    branch: ({ controller }) => controller.branch(token(" other", 77)),
  };
  for (const [name, begin] of Object.entries(begins)) {
    const parts = await ownRun(9);
    const suggested = headOf(parts);
    const chosen = [1 - suggested[0], 1 - suggested[1]];
    parts.store.dispatch({ type: "select", selection: { layer: chosen[0], head: chosen[1], view: "cache" } });
    await begin(parts);
    await settled();
    parts.bring(0, 1, parts.store.state().run.id);
    assert.deepEqual(headOf(parts), chosen, name);
    parts.store.dispatch({ type: "suggest", layer: suggested[0], head: suggested[1] });
    assert.deepEqual(headOf(parts), chosen, name);
    assert.equal(parts.store.state().selection.view, "cache", name);
    parts.controller.dispose();
  }
  const none = await ownRun(9);
  assert.equal(none.store.state().headChosen, false);
});

test("a run started from Effects plays as from any other view, and opening Effects stops playback", async () => {
  const { store, controller } = await ownRun(9);
  store.dispatch({ type: "play" });
  store.dispatch({ type: "select", selection: { view: "effects" } });
  assert.equal(store.state().playing, false);
  controller.submit();
  await settled();
  assert.deepEqual([store.state().playing, store.state().selection.view], [true, "effects"]);
});

test("what the server compiled is known with its readiness, which is then polled no more", async () => {
  const ready = { state: "ready", compiled: "native code for this processor" };
  const { client, store, controller } = harness({ states: ["loading", ready] });
  controller.begin(null, {});
  await settled();
  assert.equal(store.state().readiness.compiled, "native code for this processor");
  client.readiness = () => assert.fail("it is ready");
  await settled();
});

/** A static site whose model is loaded by `here.load` and ready when the test says so; readiness is answered a turn after it is read. */
function onSite() {
  const device = { state: "offered", loads: 0 };
  const here = {
    async load() {
      device.loads += 1;
      device.state = "loading";
    },
    async cancel() {
      device.state = "offered";
    },
  };
  const parts = harness({ here, facts: { inSite: true, engine: "offer" } });
  parts.client.readiness = async () => {
    const { state } = device;
    await turn();
    return { state, message: "" };
  };
  return { ...parts, device };
}

test("a model on this device is loaded and followed, whatever was last known of it when the prompt was sent", async () => {
  const { store, controller, device, calls } = onSite();
  controller.begin(null, {});
  store.dispatch({ type: "prompt", prompt: "hello" });
  controller.submit(); // before the first answer
  await settled();
  assert.equal(store.state().readiness.state, "loading");
  await controller.cancelWaiting();
  assert.equal(store.state().readiness.state, "loading");
  controller.submit(); // before the page hears that loading has stopped
  await settled();
  assert.equal(device.loads, 2);
  device.state = "ready";
  await settled();
  assert.deepEqual(calls, [["start", "hello"]]);
  controller.dispose();
});

test("a prompt that was taken back does not start", async () => {
  const { store, controller, calls } = harness({ states: ["loading", "loading", "ready"] });
  controller.begin(null, {});
  store.dispatch({ type: "prompt", prompt: "hello" });
  controller.submit();
  store.dispatch({ type: "hold", held: false });
  await settled();
  assert.deepEqual(calls, []);
});

test("a model that failed to load is told, and the prompt stays", async () => {
  const { store, controller, calls } = await typed("hello", { states: ["failed"] });
  controller.submit();
  assert.match(store.state().problem.detail, /why/);
  assert.equal(store.state().prompt, "hello");
  assert.deepEqual(calls, []);
  controller.dispose();
});

test("an empty and an over-long prompt are named with their limit and not sent", async () => {
  const { store, controller, calls } = harness();
  controller.begin(null, {});
  await settled();
  controller.submit();
  assert.deepEqual([store.state().problem.field, store.state().problem.limit], ["prompt", [1, 8192]]);
  store.dispatch({ type: "prompt", prompt: "🙂".repeat(8192) });
  controller.submit();
  assert.deepEqual(calls, [["start", "🙂".repeat(8192)]]);
  await settled();
  store.dispatch({ type: "prompt", prompt: "x".repeat(8193) });
  controller.submit();
  assert.deepEqual([store.state().problem.field, store.state().problem.limit], ["prompt", 8192]);
});

test("a refused run leaves the one on the page and says why", async () => {
  const start = () => Promise.reject(new Problem({ title: "No", detail: "full", status: 429 }));
  const { store, controller } = await openRun(4, {}, { start });
  store.dispatch({ type: "prompt", prompt: "hello" });
  controller.submit();
  await settled();
  const { problem, run, opening } = store.state();
  assert.deepEqual([problem.detail, run.steps.length, opening], ["full", 1, false]);
});

test("a second Enter while a run is being opened starts no second run", async () => {
  const { controller, named } = await typed("hello");
  controller.submit();
  controller.submit();
  await settled();
  assert.equal(named("start").length, 1);
});

test("pause stops the engine of one's own run, play lets it go on", async () => {
  const { controller, controls } = await ownRun();
  controller.pause();
  await settled();
  controller.play();
  await settled();
  assert.deepEqual(controls().map(String), ["pause,r1", "resume,r1"]);
});

test("a viewer's pause leaves the engine of another's run alone", async () => {
  const { controller, controls, store } = await openRun(6);
  controller.pause();
  await settled();
  assert.deepEqual(controls(), []);
  assert.equal(store.state().playing, false);
});

test("a run found paused goes on with play, if this device started it", async () => {
  for (const mine of [true, false]) {
    const { controller, controls } = await openRun(6, {}, { status: "paused", mine });
    await settled();
    controller.play();
    controller.last();
    controller.next();
    await settled();
    assert.deepEqual(controls(), mine ? [["resume", "r1"]] : []);
  }
});

test("next steps through what is there, and at the edge of a paused run asks for one more", async () => {
  const { controller, store, bring, controls } = await ownRun(6);
  controller.pause();
  await settled();
  controller.next();
  assert.equal(store.state().step, 1);
  controller.next();
  await settled();
  assert.equal(store.state().step, 1);
  assert.deepEqual(controls().at(-1), ["step", "r1"]);
  bring(6, 8);
  assert.equal(store.state().step, 2);
  assert.equal(store.state().playing, false);
});

test("control requests arrive in the order of the buttons, however slow the server is", async () => {
  const parts = await ownRun(6);
  const arrived = [];
  let answer;
  parts.client.control = (_run, action) => {
    arrived.push(action);
    return new Promise((resolve) => (answer = resolve));
  };
  parts.controller.pause();
  parts.controller.play();
  await settled();
  assert.deepEqual(arrived, ["pause"]);
  answer();
  await settled();
  assert.deepEqual(arrived, ["pause", "resume"]);
});

test("a link comes back to its step and selection as soon as they are there", async () => {
  const { store, bring } = await openRun(4, { step: 1, layer: 1, head: 0, query: 3, key: 2 });
  assert.equal(store.state().step, 0);
  bring(4, 9);
  const { step, playing, selection } = store.state();
  assert.deepEqual(
    [step, playing, selection],
    [1, false, { layer: 1, head: 0, query: 3, key: 2, view: "head", focus: null }],
  );
});

test("a link's head is chosen before the first step is there, and then left to whoever looks at it", async () => {
  const { store, bring } = await openRun(1, { layer: 1, head: 1, key: 2 });
  const { layer, head } = store.state().selection;
  assert.deepEqual([layer, head], [1, 1]);
  store.dispatch({ type: "select", selection: { layer: 0 } });
  bring(1, 4);
  assert.deepEqual(store.state().selection, { layer: 0, head: 1, query: null, key: 2, view: "head", focus: null });
});

test("a link whose step is not there yet leaves whoever has gone elsewhere meanwhile where they are", async () => {
  const gone = {
    "at the newest step": [({ controller }) => controller.follow(), ({ following, playing }) => following && playing],
    "on a step back and forth": [({ controller }) => controller.next(), ({ step }) => step === 1],
    "at another cell": [
      ({ store }) => store.dispatch({ type: "select", selection: { query: 1, key: 0 } }),
      ({ selection, step }) => selection.query === 1 && selection.key === 0 && step === 0,
    ],
  };
  for (const [where, [go, stays]] of Object.entries(gone)) {
    const parts = await openRun(6, { step: 2, query: 3, key: 2 });
    go(parts);
    parts.bring(6, 9);
    assert.ok(stays(parts.store.state()), where);
    parts.controller.dispose();
  }
});

test("a link's view is left to whoever opens another while its step is awaited", async () => {
  const { store, bring } = await openRun(4, { step: 1, view: "tokens" });
  assert.equal(store.state().selection.view, "tokens");
  store.dispatch({ type: "select", selection: { view: "cache" } });
  bring(4, 9);
  assert.deepEqual([store.state().selection.view, store.state().step], ["cache", 1]);
});

test("a problem of one run is gone where another is opened", async () => {
  const { controller, store, watches } = harness();
  controller.begin("r0", {});
  await settled();
  watches.at(-1).handlers.onProblem({ title: "There is no run r0" });
  assert.ok(store.state().problem);
  controller.visit("r1");
  assert.equal(store.state().problem, null);
});

test("a link beyond the run's end shows its end", async () => {
  const { store } = await openRun(9, { step: 50, layer: 40 });
  assert.deepEqual([store.state().step, store.state().selection.layer], [2, 1]);
});

test("an interrupted run says where it broke off, keeps its steps, and another can be started", async () => {
  const { controller, store, watches, named } = await ownRun(6);
  const close = encode({ kind: "close", seq: 6, data: { reason: "interrupted", error: null, steps: 2 } });
  watches.at(-1).handlers.onFrame(decodeFrame(close));
  assert.match(store.state().problem.title, /step 2/);
  assert.equal(store.state().run.steps.length, 2);
  await settled();
  controller.submit();
  await settled();
  assert.equal(named("start").length, 2);
  assert.equal(store.state().problem, null);
});

test("a run that cannot be watched is taken off the page, its reason stays", async () => {
  const { controller, store, watches } = harness();
  controller.begin("gone", {});
  await settled();
  watches.at(-1).handlers.onProblem(new Problem({ title: "Not Found", detail: "There is no run.", status: 404 }));
  const { run, phase, problem } = store.state();
  assert.deepEqual([run, phase, problem.detail], [null, "error", "There is no run."]);
});

test("a run of this device that is gone is named, and the run that the page opens with takes its place", async () => {
  const saved = { id: "s1", run: "r1", notes: [], open: { step: 2 }, values: null };
  const { store, controller, watches, bring } = harness({ states: ["offered"], saved });
  controller.begin("here-1", { step: 5 });
  watches.at(-1).handlers.onProblem(new Problem({ title: "Not in this site", status: 409 }));
  assert.equal(watches.at(-1).id, "r1");
  bring(0, FRAMES.length);
  assert.equal(store.state().step, 2);
  assert.equal(store.state().insteadOf, "here-1");
  assert.equal(store.state().problem.title, "This run is gone");
});

test("opening another run stops watching the one before", async () => {
  const { controller, calls } = await ownRun();
  controller.visit("r2");
  assert.deepEqual(calls.at(-1), ["stop watching", "r1"]);
});

/** A run seen at step 1, in the large view of the next token. */
const atStepOne = (options) => openRun(9, { step: 1, layer: 1, head: 0, view: "tokens" }, options);

const OTHER = token(" z", 8);

test("a branch asks for the token at the position the step chose, and opens at that step in the same view", async () => {
  const { controller, store, named, watches, bring } = await atStepOne();
  await controller.branch(OTHER);
  assert.deepEqual(named("fork"), [["fork", "r1", { position: 4, token: 8 }]]);
  assert.deepEqual([watches.at(-1).id, store.state().selection.view], ["b1", "tokens"]);
  bring(0, 6, "b1");
  const { step, playing, selection, branching } = store.state();
  assert.deepEqual([step, playing, branching], [1, false, null]);
  assert.deepEqual(selection, { layer: 1, head: 0, query: null, key: null, view: "tokens", focus: null });
});

test("a click on a candidate while a branch is starting starts no second one", async () => {
  let answer;
  const { controller, store, named } = await atStepOne({ fork: () => new Promise((resolve) => (answer = resolve)) });
  controller.branch(OTHER);
  assert.equal(store.state().branching, OTHER);
  controller.branch(token(" y", 7));
  answer({ id: "b1" });
  await settled();
  assert.deepEqual([named("fork").length, store.state().branching], [1, null]);
});

test("a branch that is refused leaves the run and says why and when to try again", async () => {
  const fork = async () => Promise.reject(new Problem({ title: "Too Many", detail: "no room", status: 429 }, 5));
  const { controller, store } = await atStepOne({ fork });
  await controller.branch(OTHER);
  const { problem, run, branching } = store.state();
  assert.deepEqual([problem.detail, problem.retryAfter, run.id, branching], ["no room", 5, "r1", null]);
  assert.match(problem.title, /branch/);
});

test("a branch that starts after its viewer has gone elsewhere does not fetch them back", async () => {
  let answer;
  const { controller, watches } = await atStepOne({ fork: () => new Promise((resolve) => (answer = resolve)) });
  const started = controller.branch(OTHER);
  controller.visit("r2");
  answer({ id: "b1" });
  await started;
  assert.equal(watches.at(-1).id, "r2");
});

test("a branch that nothing could follow is not asked for", async () => {
  const { controller, store, named } = await atStepOne();
  await controller.branch(token("<end>", 99));
  assert.match(store.state().problem.detail, /ends the text/);
  store.dispatch({ type: "seek", step: 2 });
  await controller.branch(OTHER);
  assert.match(store.state().problem.detail, /last of the 3 new tokens/);
  assert.deepEqual(named("fork"), []);
});

test("one's own paused run goes on when it is left for a branch", async () => {
  const { controller, named } = await ownRun();
  controller.pause();
  await settled();
  await controller.branch(OTHER);
  await settled();
  assert.deepEqual(named("pause", "resume").map(String), ["pause,r1", "resume,r1"]);
});

const OFF = switchedOff("head", { layer: 1, head: 0 });

async function changing(options) {
  const parts = await openRun(FRAMES.length, { step: 1, view: "pair" }, options);
  parts.store.dispatch({ type: "addChange", change: OFF });
  await parts.controller.change();
  await settled();
  return parts;
}

test("changes start a run that opens where the changes begin, in the same view", async () => {
  const { store, controls, bring } = await changing();
  assert.deepEqual(controls(), [["change", "r1", { changes: [OFF] }]]);
  bring(0, FRAMES.length, "c1");
  const { run, step, selection, changing: list } = store.state();
  assert.deepEqual([run.id, step, selection.view], ["c1", 0, "pair"]);
  assert.deepEqual([list.changes, list.open, list.busy], [[OFF], false, false], "the list stays, its panel closes");
});

test("changes that are refused stay, with the reason", async () => {
  const refusal = new Problem({ title: "no", field: "changes[0].layer" });
  const { store } = await changing({ change: () => Promise.reject(refusal) });
  const { run, changing: list } = store.state();
  assert.deepEqual([run.id, list.changes, list.open, list.busy, list.problem], ["r1", [OFF], true, false, refusal]);
});

test("a relative is shown at the step asked for, with the same head and view", async () => {
  const { controller, store, bring } = await atStepOne();
  controller.visitRelative("r2", 2);
  bring(0, FRAMES.length, "r2");
  const { step, selection } = store.state();
  assert.deepEqual([step, selection], [2, { layer: 1, head: 0, query: null, key: null, view: "tokens", focus: null }]);
});

test("the link of a twin or a beam search leads to the run it is of, in the view that shows it", async () => {
  for (const [kind, view] of Object.entries({ twin: "cache", beam: "tokens" })) {
    const { controller, store, watches, named, bring } = harness();
    controller.begin("s1", {});
    const [opened] = FRAMES;
    watches[0].handlers.onFrame({ ...opened, run: "s1", data: { ...opened.data, study: { kind, of: "r1" } } });
    assert.deepEqual([named("stop watching"), watches[1].id], [[["stop watching", "s1"]], "r1"]);
    bring(0, FRAMES.length);
    await settled();
    const { run, insteadOf, selection } = store.state();
    assert.deepEqual([run.id, insteadOf, selection.view], ["r1", "s1", view]);
    controller.visit("r2");
    assert.equal(store.state().insteadOf, null);
  }
});

const SAVED = {
  id: "abcdefghij23",
  run: "r1",
  title: "A title",
  notes: [],
  open: { step: 1, layer: 1, head: null, query: 3, key: null, view: "pair" },
};

test("a saved session opens where its sharer chose, unless the address names another place", async () => {
  const chosen = await openRun(9, {}, { saved: SAVED });
  const { step, playing, selection, run } = chosen.store.state();
  assert.deepEqual([step, playing, run.saved], [1, false, SAVED]);
  assert.deepEqual([selection.layer, selection.query, selection.view], [1, 3, "pair"]);
  const named = await openRun(9, { step: 2 }, { saved: SAVED });
  assert.deepEqual([named.store.state().step, named.store.state().selection.view], [2, "head"]);
});

test("a saved session without a place plays from its start", async () => {
  const { store } = await openRun(9, {}, { saved: { ...SAVED, open: { step: null, view: null } } });
  assert.deepEqual([store.state().step, store.state().playing], [0, true]);
});

test("a saved run asks its engine for nothing, even before its last frame is here", async () => {
  const { controller, store, controls } = await openRun(6, {}, { saved: SAVED, status: "paused" });
  controller.pause();
  controller.last();
  controller.next();
  controller.play();
  await controller.branch(OTHER);
  await settled();
  assert.deepEqual(controls(), []);
  assert.equal(store.state().enginePaused, false);
  assert.match(store.state().problem.detail, /cannot be branched\. Run its prompt again/);
});

test("a damaged saved run keeps the steps that could be read", async () => {
  const { store, watches } = await openRun(6, {}, { saved: SAVED });
  watches.at(-1).handlers.onProblem(new Problem({ title: "No", detail: "Part 6 is damaged.", status: 500 }));
  assert.deepEqual([store.state().run.steps.length, store.state().problem.detail], [2, "Part 6 is damaged."]);
});

test("a run started from a saved session's page is an ordinary one", async () => {
  const { controller, store } = await openRun(9, {}, { saved: SAVED, start: async () => ({ id: "r9" }) });
  controller.submit();
  await settled();
  assert.deepEqual([store.state().run.id, store.state().run.saved], ["r9", null]);
});

const EMBEDDED = { id: "s1", run: "r1", title: "", notes: [], open: { step: 1, layer: 1, head: null, view: "block" } };

test("an embed opens where its sharer meant it to, but for what its address says, and stands still", async () => {
  const { store, controller, bring } = harness({ saved: EMBEDDED });
  controller.beginEmbedded({ layer: 0 }, false);
  bring(0);
  const { step, selection, playing } = store.state();
  assert.deepEqual([step, selection.layer, selection.view, playing], [1, 0, "block", false]);
  controller.dispose();
});

test("an embed that plays by itself plays on from the step it opens at", async () => {
  for (const step of [1, 0]) {
    const link = step === EMBEDDED.open.step ? {} : { step };
    const { store, controller, bring } = harness({ saved: EMBEDDED });
    controller.beginEmbedded(link, true);
    bring(0);
    assert.deepEqual([store.state().step, store.state().playing], [step, true]);
    controller.dispose();
  }
});
