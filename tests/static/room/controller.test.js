/** Who presents, with which secret, and what is said when the server refuses. */

import assert from "node:assert/strict";
import { mock, test } from "node:test";
import { createController } from "../../../kvscope/static/room/controller.js";
import { createSecrets } from "../../../kvscope/static/room/secrets.js";
import { initialState, reduce } from "../../../kvscope/static/room/state.js";
import { Problem } from "../../../kvscope/static/shared/log/problem.js";
import { storeOf } from "../../../kvscope/static/shared/state/create-store.js";

const CODE = "ABCD2345";
const RIGHT = "right";
const PLACE = { address: "/", within: null, playing: false, answered: false };
const roomWith = (more = {}) => ({ code: CODE, seq: 1, expires: 99, place: PLACE, question: null, ...more });
const settled = () => new Promise((resolve) => setImmediate(resolve));
// The number of followers is asked for again and again.
mock.timers.enable({ apis: ["setTimeout"] });

/** A page of a room, whose server takes one secret. `answers`: of requests by name, instead of the room. */
async function page({ stored = null, given = null, answers = {} } = {}) {
  const values = new Map();
  const storage = { getItem: (key) => values.get(key) ?? null, setItem: (key, value) => values.set(key, value) };
  const secrets = createSecrets(storage, () => 0);
  if (stored) secrets.add(CODE, stored, 99);
  const store = storeOf(initialState, reduce);
  const asked = [];
  const socket = {
    ...{ connected: true, on() {}, connect() {} },
    timeout: () => ({
      emit: (_name, { presents }, callback) => {
        asked.push(presents);
        callback(null, { room: roomWith() });
      },
    }),
  };
  const presenting = (_code, secret) =>
    new Proxy(
      {},
      {
        get: (_of, name) => async () => {
          if (secret !== RIGHT) throw new Problem({ title: "not the secret", status: 403 });
          if (name === "attendance") return { followers: 1, answered: 0 };
          return (answers[name] ?? roomWith)();
        },
      },
    );
  const controller = createController({
    ...{ store, secrets, client: "c", voter: "v", connect: () => socket },
    api: { presenting, answer: async () => {}, room: async () => roomWith() },
    frame: { send() {}, move() {} },
    presence: () => () => {},
    delay: () => new Promise(() => {}),
    now: () => 0,
  });
  controller.enter(CODE, given);
  await settled();
  return { controller, store, secrets, asked };
}

test("a right secret in the address is stored once the server has taken it", async () => {
  const { store, secrets } = await page({ given: RIGHT });
  assert.deepEqual([store.state().secret, secrets.of(CODE)], [RIGHT, RIGHT]);
});

test("a wrong secret in the address does not take the room from its presenter", async () => {
  const { store, secrets, asked } = await page({ stored: RIGHT, given: "wrong" });
  assert.deepEqual([store.state().secret, secrets.of(CODE), store.state().problem], [RIGHT, RIGHT, null]);
  assert.deepEqual(store.state().attendance, { followers: 1, answered: 0 });
  assert.equal(asked.at(-1), true);
});

test("a wrong secret follows, says so, and is not stored", async () => {
  for (const parts of [{ given: "wrong" }, { stored: "wrong" }]) {
    const { store, secrets, asked } = await page(parts);
    assert.deepEqual([store.state().secret, secrets.of(CODE)], [null, null]);
    assert.equal(store.state().problem.title, "not the secret");
    assert.equal(asked.at(-1), false, "it counts as a follower");
  }
});

test("a page that follows presents with a secret that comes later", async () => {
  const { controller, store, secrets, asked } = await page();
  assert.equal(store.state().secret, null);
  controller.lookAround();
  controller.present(RIGHT);
  await settled();
  assert.deepEqual([store.state().secret, secrets.of(CODE), store.state().away], [RIGHT, RIGHT, false]);
  assert.deepEqual(asked, [false, true]);
});

test("a question that is refused is the asker's to say, and the room stays as it is", async () => {
  const refuse = () => {
    throw new Problem({ title: "too long", status: 422 });
  };
  const { controller, store } = await page({ stored: RIGHT, answers: { ask: refuse } });
  await assert.rejects(controller.ask({ text: "?", kind: "number", choices: [] }), /too long/);
  assert.deepEqual([store.state().problem, store.state().room.question], [null, null]);
});

test("a place that is shown does not take away a problem of another kind", async () => {
  const refuse = () => {
    throw new Problem({ title: "already shown", status: 409 });
  };
  const { controller, store } = await page({ stored: RIGHT, answers: { reveal: refuse } });
  await controller.reveal();
  controller.onTouch();
  controller.onShown({ address: "/memory", stage: null, lesson: null });
  await settled();
  assert.equal(store.state().problem.title, "already shown");
});
