import assert from "node:assert/strict";
import { test } from "node:test";
import { createModelPolling } from "../../../../kvscope/static/stage/state/model-polling.js";
import { createStore } from "../../../../kvscope/static/stage/state/store.js";
import { settled, turn } from "../../support/turns.js";

const offered = (name, state, more = {}) => ({ name, state, message: name, done: 0, total: 0, refusal: null, ...more });

/** `answers`: lists that the server gives one after the other, the last one again and again. */
function harness(answers, overrides = {}) {
  const store = createStore({ severalModels: true, ...overrides });
  const seen = { asked: 0, ready: 0 };
  const client = {
    models: async () => {
      seen.asked += 1;
      const models = answers.length > 1 ? answers.shift() : answers[0];
      if (!models) throw new Error("no server");
      return { models };
    },
  };
  const onReady = () => {
    seen.ready += 1;
    store.dispatch({ type: "hold", held: false });
  };
  const models = createModelPolling({ store, client, delay: turn, onReady });
  return { store, seen, models };
}

async function polled(answers, overrides) {
  const parts = harness(answers, overrides);
  parts.models.poll();
  await settled();
  return parts;
}

test("a held run starts when its own model is loaded, though the shown one has long been", async () => {
  const answers = [
    [offered("one", "ready"), offered("two", "loading")],
    [offered("one", "ready"), offered("two", "ready")],
  ];
  const { store, seen } = await polled(answers, { model: "two", held: true });
  assert.deepEqual([seen.ready, seen.asked], [1, 2]);
  assert.equal(store.state().readiness.state, "ready");
});

test("a held run whose model was ended meanwhile is sent again, which loads it", async () => {
  const { seen } = await polled([[offered("one", "unloaded")]], { held: true });
  assert.equal(seen.ready, 1);
});

test("nothing is asked again once no model is on its way", async () => {
  const { seen, models } = await polled([[offered("one", "ready"), offered("two", "unloaded")]]);
  assert.equal(seen.asked, 1);
  models.poll();
  await settled();
  assert.deepEqual([seen.asked, seen.ready], [2, 0]);
});

test("a held run whose model cannot be loaded is given up with the reason", async () => {
  for (const model of [offered("two", "failed"), offered("two", "unloaded", { refusal: "two" })]) {
    const { store } = await polled([[offered("one", "ready"), model]], { model: "two", held: true });
    assert.deepEqual([store.state().problem.detail, store.state().held], ["two", false]);
  }
});

test("a server that does not answer is asked again until it does", async () => {
  const { store, seen } = await polled([null, null, [offered("one", "ready")]]);
  assert.equal(seen.asked, 3);
  assert.equal(store.state().readiness.state, "ready");
});
