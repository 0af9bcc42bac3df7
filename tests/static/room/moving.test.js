/** When a frame moves to the place of its room, and when the room moves to that of a presenter's frame. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createMoving } from "../../../kvscope/static/room/moving.js";
import { initialState, reduce } from "../../../kvscope/static/room/state.js";
import { storeOf } from "../../../kvscope/static/shared/state/create-store.js";

const HASH = (step) => `#step=${step}&layer=1&head=1&view=head`;
const stageAt = (step, playing = false) => ({
  ...{ address: `/?run=a${HASH(step)}`, lesson: null },
  stage: { run: "a", step, playing },
});
const placeAt = (step) => ({ address: `/?run=a${HASH(step)}`, within: null, playing: false, answered: false });

/** A page of a room, whose frame shows what `shown` says. */
function page(secret) {
  const store = storeOf({ ...initialState, code: "ABCD2345", secret, room: null }, reduce);
  const messages = [];
  const places = [];
  let seq = 0;
  let time = 0;
  let answer = (_again) => {};
  let timers = [];
  const moving = createMoving({
    store,
    frame: { send: (message) => messages.push(message.type), move: (address) => messages.push(address) },
    now: () => time,
    later: (callback, ms) => timers.push([time + ms, callback]),
    show: (place) =>
      new Promise((resolve) => {
        places.push(place.address);
        seq += 1;
        const room = { code: "ABCD2345", seq, question: null, place };
        answer = (again) => {
          if (!again) store.dispatch({ type: "room", room });
          resolve(again);
        };
      }),
  });
  return {
    ...{ store, messages, places, moving },
    answer: async (again = false) => {
      answer(again);
      await null;
    },
    pass: (ms) => {
      time += ms;
      const due = timers.filter(([at]) => at <= time);
      timers = timers.filter(([at]) => at > time);
      for (const [, callback] of due) callback();
    },
    room(place) {
      seq += 1;
      const before = store.state().room?.place ?? null;
      store.dispatch({ type: "room", room: { code: "ABCD2345", seq, question: null, place } });
      moving.onRoom(before);
    },
    shows(shown) {
      store.dispatch({ type: "shown", shown });
      moving.onShown();
    },
  };
}

/** A presenter's page, whose frame was touched at the room's place. */
function leading() {
  const presenter = page("secret");
  presenter.room(placeAt(0));
  presenter.shows(stageAt(0));
  presenter.moving.onTouch();
  return presenter;
}

test("a follower's frame opens the place of the room, and goes where the room goes", () => {
  const follower = page(null);
  follower.room(placeAt(3));
  assert.deepEqual(follower.store.state().opened, { address: `/?run=a${HASH(3)}`, count: 1 });
  follower.shows(stageAt(0));
  follower.shows(stageAt(3));
  assert.deepEqual(follower.messages, ["goto"]);
  follower.room(placeAt(4));
  assert.deepEqual(follower.messages, ["goto", "goto"]);
  assert.deepEqual(follower.places, []);
});

test("nothing of a follower is sent, whatever the frame shows", () => {
  const follower = page(null);
  follower.room(placeAt(3));
  follower.shows(stageAt(3));
  follower.moving.onTouch();
  follower.shows(stageAt(7));
  assert.deepEqual(follower.places, []);
});

test("a follower looks around after a press that changes the place, not after one that does not", () => {
  const follower = page(null);
  follower.room(placeAt(3));
  follower.shows(stageAt(3));
  follower.shows(stageAt(4));
  assert.equal(follower.store.state().away, false, "nobody touched it");
  follower.moving.onTouch();
  assert.equal(follower.store.state().away, false);
  follower.pass(60_000);
  follower.shows(stageAt(5));
  assert.equal(follower.store.state().away, false, "the press was long ago");
  follower.moving.onTouch();
  follower.shows(stageAt(6));
  assert.equal(follower.store.state().away, true);
  follower.room(placeAt(9));
  assert.deepEqual(follower.messages, [], "the presenter does not move who looks around");
  follower.store.dispatch({ type: "away", away: false });
  follower.moving.go();
  assert.deepEqual(follower.messages, ["goto"]);
});

test("a presenter's newest place is sent when the one before has arrived", async () => {
  const presenter = leading();
  presenter.shows(stageAt(1));
  presenter.shows(stageAt(2));
  presenter.shows(stageAt(3));
  assert.deepEqual(presenter.places, [placeAt(1).address]);
  await presenter.answer();
  assert.deepEqual(presenter.places, [placeAt(1).address, placeAt(3).address]);
  await presenter.answer();
  assert.equal(presenter.places.length, 2);
});

test("what a presenter's frame shows on its way to the room's place is not sent", () => {
  const presenter = page("secret");
  presenter.room(placeAt(3));
  presenter.shows({ address: placeAt(3).address, stage: null, lesson: null });
  presenter.shows(stageAt(0));
  assert.deepEqual(presenter.places, []);
  presenter.shows(stageAt(3));
  presenter.moving.onTouch();
  presenter.shows(stageAt(4));
  assert.deepEqual(presenter.places, [placeAt(4).address]);
});

test("a presenter's frame follows another presenter, and does not send that back", () => {
  const presenter = page("secret");
  presenter.room(placeAt(0));
  presenter.shows(stageAt(0));
  presenter.room(placeAt(5));
  presenter.shows(stageAt(5));
  assert.deepEqual(presenter.messages, ["goto"]);
  assert.deepEqual(presenter.places, []);
});

test("a place that cannot be reached is given up, and not sent either", () => {
  const presenter = page("secret");
  presenter.room(placeAt(3));
  presenter.shows(stageAt(0));
  presenter.pass(60_000);
  presenter.shows(stageAt(1));
  presenter.shows(stageAt(2));
  assert.deepEqual(presenter.places, []);
  presenter.moving.onTouch();
  presenter.shows(stageAt(2));
  assert.deepEqual(presenter.places, [], "the press changed nothing");
  presenter.shows(stageAt(4));
  assert.deepEqual(presenter.places, [placeAt(4).address]);
});

test("a run that plays along with another presenter's is not sent, and one that a press began is", async () => {
  const presenter = page("secret");
  presenter.room({ ...placeAt(0), playing: true });
  presenter.shows(stageAt(0, true));
  for (const step of [1, 2, 3]) {
    presenter.pass(1000);
    presenter.shows(stageAt(step, true));
  }
  assert.deepEqual(presenter.places, []);
  presenter.room(placeAt(3));
  presenter.shows(stageAt(3));
  presenter.moving.onTouch();
  for (const step of [3, 4, 5]) {
    presenter.pass(60_000);
    presenter.shows(stageAt(step, true));
    await presenter.answer();
  }
  assert.deepEqual(
    presenter.places,
    [3, 4, 5].map((step) => placeAt(step).address),
  );
});

test("a pause during playback is sent at once, and the step before it is not", async () => {
  const presenter = leading();
  presenter.shows(stageAt(0, true));
  await presenter.answer();
  presenter.pass(300);
  presenter.shows(stageAt(1, true));
  presenter.pass(300);
  presenter.shows(stageAt(2));
  assert.deepEqual(presenter.places, [placeAt(0).address, placeAt(2).address]);
  await presenter.answer();
  presenter.pass(1000);
  assert.equal(presenter.places.length, 2);
});

test("a step that waits during playback is sent when its time has come", async () => {
  const presenter = leading();
  presenter.shows(stageAt(0, true));
  await presenter.answer();
  presenter.shows(stageAt(1, true));
  assert.equal(presenter.places.length, 1);
  presenter.pass(1000);
  assert.deepEqual(presenter.places.slice(1), [placeAt(1).address]);
});

test("another presenter's place that comes while one is on its way is shown", async () => {
  const presenter = leading();
  presenter.shows(stageAt(1));
  presenter.room(placeAt(7));
  assert.deepEqual(presenter.messages, []);
  await presenter.answer();
  assert.deepEqual(presenter.messages, ["goto"]);
  presenter.shows(stageAt(7));
  assert.deepEqual(presenter.places, [placeAt(1).address]);
});

test("a place that was lost on its way is sent again, and the frame stays there", async () => {
  const presenter = leading();
  presenter.shows(stageAt(1));
  await presenter.answer(true);
  assert.deepEqual(presenter.places, [placeAt(1).address, placeAt(1).address]);
  assert.deepEqual(presenter.messages, []);
});

test("a press while the presenter's place is on its way does not hide it", async () => {
  const presenter = leading();
  presenter.shows(stageAt(1));
  presenter.shows(stageAt(2));
  presenter.moving.onTouch();
  await presenter.answer();
  assert.deepEqual(presenter.places, [placeAt(1).address, placeAt(2).address]);
});

test("a follower's tap while the presenter moves does not end the move", () => {
  const follower = page(null);
  follower.room(placeAt(0));
  follower.shows(stageAt(0));
  follower.room(placeAt(5));
  follower.moving.onTouch();
  follower.shows(stageAt(5));
  assert.equal(follower.store.state().away, false);
  follower.room(placeAt(6));
  assert.deepEqual(follower.messages, ["goto", "goto"]);
});

test("a place that gives rights is not sent", () => {
  const presenter = leading();
  presenter.shows({ ...stageAt(1), address: "/s/abc#token=x" });
  assert.deepEqual(presenter.places, []);
});
