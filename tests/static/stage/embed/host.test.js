import assert from "node:assert/strict";
import { test } from "node:test";
import { createEmbedHost } from "../../../../kvscope/static/stage/embed/host.js";

const selection = { layer: 1, head: 2, query: null, key: null, view: "head" };

function harness({ alone = false } = {}) {
  const sent = [];
  const calls = [];
  const timers = [];
  const listeners = new Set();
  const subscribers = new Set();
  const parent = { postMessage: (data, origin) => sent.push([data, origin]) };
  const window = {
    addEventListener: (type, listener) => type === "message" && listeners.add(listener),
    removeEventListener: (type, listener) => type === "message" && listeners.delete(listener),
    postMessage: parent.postMessage,
    setTimeout: (run) => timers.push(run),
    clearTimeout: () => timers.splice(0),
  };
  window.parent = alone ? window : parent;
  let state = { run: null, step: 0, selection, playing: false };
  const store = {
    state: () => state,
    subscribe(listener) {
      subscribers.add(listener);
      return () => subscribers.delete(listener);
    },
  };
  const controller = {
    applyLink: (link) => calls.push(["goto", link]),
    play: () => calls.push(["play"]),
    pause: () => calls.push(["pause"]),
  };
  const host = createEmbedHost({ window, store, controller });
  const change = (patch) => {
    state = { ...state, ...patch };
    for (const listener of subscribers) listener(state);
  };
  const hear = (data, source = window.parent) => {
    for (const listener of listeners) listener({ source, data });
  };
  const settle = () => timers.splice(0).forEach((run) => run());
  const types = () => sent.map(([data]) => data.type ?? data.subject);
  return { host, sent, calls, timers, settle, change, hear, listeners, subscribers, types };
}

const run = { steps: [{}, {}, {}], close: {} };

test("each step is reported once, the first after the ready message", () => {
  const { change, sent, types } = harness();
  change({ playing: true });
  assert.deepEqual(sent, []);
  change({ run: { ...run, close: null } });
  assert.deepEqual(sent, [], "it is not there yet");
  change({ run });
  change({ progress: 0.5 });
  change({ step: 1 });
  change({ selection: { ...selection, layer: 5 } });
  assert.deepEqual(types(), ["ready", "stepchange", "stepchange", "stepchange"]);
  assert.ok(sent.every(([, origin]) => origin === "*"));
  const place = { step: 1, steps: 3, ...selection, layer: 5 };
  assert.deepEqual(sent.at(-1)[0], { kvscope: 1, type: "stepchange", ...place, playing: true });
});

test("a height is reported when it changes, and again to a page that begins to listen", () => {
  const { host, change, hear, types, sent, settle } = harness();
  hear({ kvscope: 1, type: "hello" });
  host.reportHeight(100);
  assert.deepEqual(sent, [], "nothing is there yet that has a height");
  change({ run });
  host.reportHeight(300);
  host.reportHeight(640);
  settle();
  host.reportHeight(640);
  assert.deepEqual(types(), ["ready", "stepchange", "size", "lti.frameResize"]);
  host.reportHeight(650);
  assert.deepEqual(
    sent.filter(([data]) => data.type === "size").map(([data]) => data.height),
    [640, 650],
  );
  sent.length = 0;
  hear({ kvscope: 1, type: "hello" });
  assert.deepEqual(types(), ["size", "lti.frameResize", "ready", "stepchange"]);
});

test("commands are accepted from the parent window only", () => {
  const { change, hear, calls } = harness();
  change({ run });
  const commands = [{ type: "goto", step: 2 }, { type: "play" }, { type: "pause" }];
  for (const command of commands) command.kvscope = 1;
  for (const command of commands) hear(command, { postMessage() {} });
  for (const command of commands) hear(command, null);
  assert.deepEqual(calls, []);
  for (const command of commands) hear(command);
  assert.deepEqual(calls, [["goto", { step: 2 }], ["play"], ["pause"]]);
});

test("a run whose last part is damaged is shown as far as it goes", () => {
  const { change, types } = harness();
  change({ run: { ...run, close: null }, problem: { title: "damaged" } });
  assert.deepEqual(types(), ["ready", "stepchange"]);
});

test("a page outside a frame sends nothing and obeys no commands", () => {
  const { host, change, hear, sent, calls } = harness({ alone: true });
  change({ run });
  host.reportHeight(500);
  hear({ kvscope: 1, type: "play" });
  assert.deepEqual([sent, calls], [[], []]);
});

test("dispose removes everything that was set up", () => {
  const { host, change, listeners, subscribers, timers } = harness();
  change({ run });
  assert.deepEqual([listeners.size, subscribers.size, timers.length], [1, 1, 1]);
  host.dispose();
  assert.deepEqual([listeners.size, subscribers.size, timers.length], [0, 0, 0]);
});
