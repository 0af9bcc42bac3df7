import assert from "node:assert/strict";
import { test } from "node:test";
import { createQueue, followShown } from "../../../../kvscope/static/shared/painting/queue.js";

/** A queue whose frames are run by hand, on a clock that jobs spend. */
function made() {
  let now = 0;
  let requested = [];
  const later = createQueue({ requestFrame: (callback) => requested.push(callback), now: () => now });
  const done = [];
  return {
    later,
    done,
    job: (name, ms = 0) => {
      return () => {
        done.push(name);
        now += ms;
      };
    },
    async frame() {
      const due = requested;
      requested = [];
      for (const callback of due) await callback();
      return due.length;
    },
  };
}

async function settle(frame) {
  let frames = 0;
  while (await frame()) frames += 1;
  return frames;
}

test("fast jobs run in one frame, in order", async () => {
  const { later, done, job, frame } = made();
  for (const name of ["a", "b", "c"]) later(job(name));
  assert.deepEqual(done, [], "nothing before the frame");
  assert.equal(await frame(), 1);
  assert.deepEqual(done, ["a", "b", "c"]);
  assert.equal(await frame(), 0, "no frame is asked for while there is nothing to do");
});

test("slow jobs take several frames, at least one job in each", async () => {
  const { later, done, job, frame } = made();
  for (const name of ["a", "b", "c"]) later(job(name, 5));
  await frame();
  assert.deepEqual(done, ["a", "b"], "the time of a frame is for two");
  await settle(frame);
  assert.deepEqual(done, ["a", "b", "c"]);
  for (const name of ["d", "e"]) later(job(name, 50));
  assert.equal(await settle(frame), 2);
});

test("urgent jobs come first in every frame and do not delay the others for ever", async () => {
  const { later, done, job, frame } = made();
  for (let at = 0; at < 3; at += 1) later(job(`late ${at}`));
  for (let at = 0; at < 3; at += 1) {
    later(job(`now ${at}`, 50), true);
    await frame();
  }
  assert.deepEqual(done, ["now 0", "late 0", "now 1", "late 1", "now 2", "late 2"]);
});

test("a job runs once, and not at all when it was cancelled", async () => {
  const { later, done, job, frame } = made();
  later(job("kept"));
  const forget = later(job("taken back"));
  later(job("urgent"), true)();
  forget();
  assert.equal(await settle(frame), 1);
  assert.deepEqual(done, ["kept"]);
});

test("a failing job delays no other", async () => {
  const { later, done, job, frame } = made();
  later(() => {
    throw new Error("no picture");
  });
  later(job("next"));
  await assert.rejects(frame(), /no picture/);
  await settle(frame);
  assert.deepEqual(done, ["next"]);
});

test("a state is reported once every part shows it, or a newer one", async () => {
  const { later, frame } = made();
  let state = 0;
  const listeners = [];
  const shown = [0, 0, 0];
  const store = { state: () => state, subscribe: (listener) => listeners.push(listener) };
  const told = [];
  followShown(store, later, (known) => {
    assert.ok(
      shown.every((each) => each >= known),
      `${known} is told, ${shown} are shown`,
    );
    told.push(known);
  });
  // As parts do: a job each, and the newest state by the time it is done; every second frame's time is up at once.
  shown.forEach((_, part) => {
    let waits = false;
    listeners.push(() => {
      if (waits) return;
      waits = true;
      later(() => {
        waits = false;
        shown[part] = state;
      });
    });
  });
  for (state = 1; state <= 40; state += 1) {
    for (const listener of listeners) listener(state);
    if (state % 2) await frame();
  }
  state = 40;
  await settle(frame);
  assert.equal(told.at(-1), 40);
  assert.deepEqual(
    told,
    [...new Set(told)].sort((one, other) => one - other),
  );
});
