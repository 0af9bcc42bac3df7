import assert from "node:assert/strict";
import { test } from "node:test";
import { Problem } from "../../static/contract/client.js";
import { decodeFrame } from "../../static/contract/frames.js";
import { createSession } from "../../static/session.js";
import { createStore } from "../../static/store.js";
import { encode, smallRun } from "./wire.js";

const FRAMES = smallRun().map(decodeFrame);

function harness({ states = ["ready"], start = async () => ({ id: "r1" }), status = "running" } = {}) {
  const calls = [];
  const watches = [];
  const held = new Map();
  const client = {
    readiness: async () => ({ state: states.length > 1 ? states.shift() : states[0], message: "why" }),
    start: async (settings) => {
      calls.push(["start", settings.prompt]);
      return start();
    },
    control: async (run, action) => calls.push([action, run]),
    status: async () => ({ status }),
    watch: (id, after, handlers) => {
      watches.push({ id, after, handlers });
      return () => calls.push(["stop watching", id]);
    },
  };
  const storage = { getItem: (key) => held.get(key) ?? null, setItem: (key, value) => held.set(key, value) };
  const store = createStore();
  const session = createSession({ store, client, storage, delay: () => new Promise((resolve) => setImmediate(resolve)) });
  const bring = (from, to) => {
    for (const frame of FRAMES.slice(from, to)) watches.at(-1).handlers.onFrame(frame);
  };
  const controls = () => calls.filter(([name]) => !["start", "stop watching"].includes(name));
  return { client, store, session, calls, controls, watches, bring };
}

/** Lets everything that is waiting for nothing but its turn have its turn. */
async function settled() {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

async function ownRun(frames = 6) {
  const parts = harness();
  parts.session.begin(null, {});
  await settled();
  parts.store.dispatch({ type: "prompt", prompt: "hello" });
  parts.session.submit();
  await settled();
  parts.bring(0, frames);
  return parts;
}

test("a prompt sent while the model loads is kept, and starts once when it is ready", async () => {
  const { store, session, calls } = harness({ states: ["loading", "loading", "loading", "ready"] });
  session.begin(null, {});
  store.dispatch({ type: "prompt", prompt: "hello" });
  session.submit();
  assert.equal(store.state().held, true);
  await settled();
  assert.deepEqual(calls, [["start", "hello"]]);
  assert.equal(store.state().held, false);
});

test("a prompt that was taken back does not start", async () => {
  const { store, session, calls } = harness({ states: ["loading", "loading", "ready"] });
  session.begin(null, {});
  store.dispatch({ type: "prompt", prompt: "hello" });
  session.submit();
  store.dispatch({ type: "hold", held: false });
  await settled();
  assert.deepEqual(calls, []);
});

test("a model that failed to load is told, and the prompt stays", async () => {
  const { store, session, calls } = harness({ states: ["failed"] });
  session.begin(null, {});
  await settled();
  store.dispatch({ type: "prompt", prompt: "hello" });
  session.submit();
  assert.match(store.state().problem.detail, /why/);
  assert.equal(store.state().prompt, "hello");
  assert.deepEqual(calls, []);
  session.dispose();
});

test("an empty and an over-long prompt are named with their limit and not sent", async () => {
  const { store, session, calls } = harness();
  session.begin(null, {});
  await settled();
  session.submit();
  assert.deepEqual([store.state().problem.field, store.state().problem.limit], ["prompt", [1, 8192]]);
  store.dispatch({ type: "prompt", prompt: "🙂".repeat(8192) });
  session.submit();
  assert.deepEqual(calls, [["start", "🙂".repeat(8192)]]);
  await settled();
  store.dispatch({ type: "prompt", prompt: "x".repeat(8193) });
  session.submit();
  assert.deepEqual([store.state().problem.field, store.state().problem.limit], ["prompt", 8192]);
});

test("a refused run leaves the one on the page and says why", async () => {
  const parts = harness({ start: async () => Promise.reject(new Problem({ title: "No", detail: "full", status: 429 })) });
  parts.session.begin("r1", {});
  await settled();
  parts.bring(0, 4);
  parts.store.dispatch({ type: "prompt", prompt: "hello" });
  parts.session.submit();
  await settled();
  assert.equal(parts.store.state().problem.detail, "full");
  assert.equal(parts.store.state().run.steps.length, 1);
  assert.equal(parts.store.state().opening, false);
});

test("a second Enter while a run is being opened starts no second run", async () => {
  const { store, session, calls } = harness();
  session.begin(null, {});
  await settled();
  store.dispatch({ type: "prompt", prompt: "hello" });
  session.submit();
  session.submit();
  await settled();
  assert.equal(calls.filter(([name]) => name === "start").length, 1);
});

test("pause stops the engine of one's own run, play lets it go on", async () => {
  const { session, controls } = await ownRun();
  session.pause();
  await settled();
  session.play();
  await settled();
  assert.deepEqual(controls(), [["pause", "r1"], ["resume", "r1"]]);
});

test("a viewer's pause leaves the engine of another's run alone", async () => {
  const { session, bring, controls, store } = harness();
  session.begin("r1", {});
  await settled();
  bring(0, 6);
  session.pause();
  await settled();
  assert.deepEqual(controls(), []);
  assert.equal(store.state().playing, false);
});

test("a run found paused goes on with play", async () => {
  const { session, bring, controls } = harness({ status: "paused" });
  session.begin("r1", {});
  await settled();
  bring(0, 6);
  await settled();
  session.play();
  await settled();
  assert.deepEqual(controls(), [["resume", "r1"]]);
});

test("next steps through what is there, and at the edge of a paused run asks for one more", async () => {
  const { session, store, bring, controls } = await ownRun(6);
  session.pause();
  await settled();
  session.next();
  assert.equal(store.state().step, 1);
  session.next();
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
  parts.client.control = (run, action) => {
    arrived.push(action);
    return new Promise((resolve) => (answer = resolve));
  };
  parts.session.pause();
  parts.session.play();
  await settled();
  assert.deepEqual(arrived, ["pause"]);
  answer();
  await settled();
  assert.deepEqual(arrived, ["pause", "resume"]);
});

test("a link comes back to its step and selection as soon as they are there", async () => {
  const { session, store, bring } = harness();
  session.begin("r1", { step: 1, layer: 1, head: 0, query: 3, key: 2 });
  await settled();
  bring(0, 4);
  assert.equal(store.state().step, 0);
  bring(4, 9);
  assert.equal(store.state().step, 1);
  assert.equal(store.state().playing, false);
  assert.deepEqual(store.state().selection, { layer: 1, head: 0, query: 3, key: 2, view: "head" });
});

test("a link beyond the run's end shows its end", async () => {
  const { session, store, bring } = harness();
  session.begin("r1", { step: 50, layer: 40 });
  await settled();
  bring(0, 9);
  assert.equal(store.state().step, 2);
  assert.equal(store.state().selection.layer, 1);
});

test("an interrupted run says where it broke off, keeps its steps, and another can be started", async () => {
  const { session, store, watches, calls } = await ownRun(6);
  const close = encode({ kind: "close", seq: 6, data: { reason: "interrupted", error: null, steps: 2 } });
  watches.at(-1).handlers.onFrame(decodeFrame(close));
  assert.match(store.state().problem.title, /step 2/);
  assert.equal(store.state().run.steps.length, 2);
  await settled();
  session.submit();
  await settled();
  assert.equal(calls.filter(([name]) => name === "start").length, 2);
  assert.equal(store.state().problem, null);
});

test("a run that cannot be watched is taken off the page, its reason stays", async () => {
  const { session, store, watches } = harness();
  session.begin("gone", {});
  await settled();
  watches.at(-1).handlers.onProblem(new Problem({ title: "Not Found", detail: "There is no run.", status: 404 }));
  assert.equal(store.state().run, null);
  assert.equal(store.state().phase, "error");
  assert.equal(store.state().problem.detail, "There is no run.");
});

test("opening another run stops watching the one before", async () => {
  const { session, calls } = await ownRun();
  session.visit("r2");
  assert.deepEqual(calls.at(-1), ["stop watching", "r1"]);
});
