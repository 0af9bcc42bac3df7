import assert from "node:assert/strict";
import { test } from "node:test";
import { createTurns, TURNS } from "../../../../static/shared/turns/turns.js";

const FIRST = TURNS[0];

/** A store, a clock whose frames are run by hand, and parts that each take `costMs` to show what they are told. */
function made({ costMs = 0 } = {}) {
  let state = { step: 0 };
  let now = 0;
  let requested = [];
  const subscribers = new Set();
  const store = {
    state: () => state,
    subscribe: (listener) => subscribers.add(listener) && (() => subscribers.delete(listener)),
  };
  const told = [];
  const seen = Object.fromEntries(TURNS.map((turn) => [turn, []]));
  const turns = createTurns({
    store,
    onShown: ({ step }) => told.push(step),
    clock: {
      requestFrame: (callback) => requested.push(callback),
      cancelFrame: () => (requested = []),
      now: () => now,
    },
  });
  for (const turn of TURNS) {
    turns.join(turn, ({ step }) => {
      seen[turn].push(step);
      now += costMs;
    });
  }
  return {
    turns,
    told,
    seen,
    subscribers,
    spend: (ms) => (now += ms),
    change(step) {
      state = { step };
      for (const listener of subscribers) listener(state);
    },
    async frame() {
      const due = requested;
      requested = [];
      for (const callback of due) await callback();
      return due.length;
    },
    async settle() {
      let frames = 0;
      while (await this.frame()) frames += 1;
      return frames;
    },
  };
}

test("what is quick is shown in one frame, in the order of the parts, and then told", async () => {
  const page = made();
  await page.settle();
  page.change(1);
  assert.equal(await page.frame(), 1);
  for (const turn of TURNS) assert.equal(page.seen[turn].at(-1), 1, turn);
  assert.deepEqual(page.told, [0, 1]);
  assert.equal(await page.frame(), 0, "no frame is asked for while there is no news");
});

test("what is slow takes several frames; nothing is told before every part shows it", async () => {
  const page = made({ costMs: 5 });
  await page.settle();
  page.change(1);
  await page.frame();
  const showing = TURNS.filter((turn) => page.seen[turn].at(-1) === 1);
  assert.deepEqual(showing, TURNS.slice(0, 2), "the time of a frame is for two parts");
  assert.deepEqual(page.told, [0]);
  await page.settle();
  for (const turn of TURNS) assert.equal(page.seen[turn].at(-1), 1, turn);
  assert.deepEqual(page.told, [0, 1]);
});

test("a part that takes longer than a frame's time is still shown, one in a frame", async () => {
  const page = made({ costMs: 50 });
  assert.ok((await page.settle()) >= TURNS.length - 1);
  assert.deepEqual(page.told, [0]);
});

test("news in every frame neither holds back the first part nor leaves out the others", async () => {
  const page = made({ costMs: 5 });
  for (let step = 1; step <= 40; step += 1) {
    page.change(step);
    await page.frame();
    assert.equal(page.seen[FIRST].at(-1), step);
  }
  for (const turn of TURNS) assert.ok(page.seen[turn].length >= 6, `${turn} was shown ${page.seen[turn].length} times`);
  assert.ok(page.told.length >= 5);
  await page.settle();
  for (const turn of TURNS) assert.equal(page.seen[turn].at(-1), 40, turn);
  assert.equal(page.told.at(-1), 40);
});

test("one job is done in each frame, of whose time the parts have the rest", async () => {
  const page = made({ costMs: 3 });
  await page.settle();
  const done = [];
  const job = (name) => () => {
    done.push(name);
    page.spend(3);
  };
  page.change(1);
  page.turns.later(job("a"));
  page.turns.later(job("b"));
  await page.frame();
  assert.deepEqual(done, ["a"], "a job, the first part and one more fill the frame");
  assert.equal(page.seen[TURNS[1]].at(-1), 1);
  assert.equal(page.seen[TURNS[2]].at(-1), 0);
  await page.settle();
  assert.deepEqual(done, ["a", "b"]);
  assert.deepEqual(page.told, [0, 1]);
});

test("a job is done without news too, once, and not when it was taken back", async () => {
  const page = made();
  await page.settle();
  const seen = page.seen[FIRST].length;
  const done = [];
  page.turns.later(() => done.push("kept"));
  const forget = page.turns.later(() => done.push("taken back"));
  forget();
  assert.equal(await page.settle(), 1);
  assert.deepEqual(done, ["kept"]);
  assert.equal(page.seen[FIRST].length, seen, "no part is shown again for it");
});

test("a job that fails holds up nothing else", async () => {
  const page = made();
  await page.settle();
  page.turns.later(() => {
    throw new Error("no picture");
  });
  page.change(1);
  await assert.rejects(page.frame(), /no picture/);
  await page.settle();
  for (const turn of TURNS) assert.equal(page.seen[turn].at(-1), 1, turn);
});

test("no state is told before the first part shows it, not even one that comes out of another part", async () => {
  const page = made();
  await page.settle();
  const leave = page.turns.join("timeline", ({ step }) => step === 1 && page.change(2));
  page.change(1);
  while (page.told.at(-1) !== 2) {
    await page.frame();
    assert.ok(page.seen[FIRST].at(-1) >= page.told.at(-1));
  }
  leave();
});

test("news in the middle of a round is told after one round, not after the rest of that and another", async () => {
  const page = made({ costMs: 5 });
  await page.settle();
  page.change(1);
  await page.frame();
  await page.frame();
  page.change(2);
  let frames = 0;
  while (page.told.at(-1) !== 2) {
    await page.frame();
    frames += 1;
  }
  assert.equal(frames, TURNS.length - 1, "one of the others in each frame");
  assert.deepEqual(page.told, [0, 1, 2]);
});

test("a part that left is told nothing, and stopping takes everything back", async () => {
  const page = made();
  const extra = [];
  const leave = page.turns.join("rest", ({ step }) => extra.push(step));
  await page.settle();
  leave();
  page.change(1);
  await page.settle();
  assert.deepEqual(extra, [0]);
  page.change(2);
  page.turns.stop();
  assert.equal(page.subscribers.size, 0);
  assert.equal(await page.settle(), 0);
  assert.equal(page.told.at(-1), 1);
});
