import assert from "node:assert/strict";
import { test } from "node:test";
import { assertEach } from "../support/lists.js";
import { folded, framesOf, SETTINGS } from "./made.js";

test("a workload is folded from its frames in order, and takes no others", () => {
  const log = folded(framesOf([SETTINGS, { ...SETTINGS, sharing: false }]));
  assertEach(log.rounds, ({ number, passes, end }) => `${number}: ${passes.length} in ${end.ms}`, [
    "0: 3 in 41",
    "1: 3 in 82",
  ]);
  assert.equal(log.passes.length, 6);
  assert.equal(log.roundOf(4).settings.sharing, false);
  assert.equal(log.roundOf(9), null);
  assert.equal(log.close.reason, "length");
  const frames = framesOf();
  assert.throws(() => folded([frames[0], frames[2]]), RangeError);
  assert.throws(() => folded([{ ...frames[0], run: "w2" }]), RangeError);
  assert.throws(() => folded([frames[0], { kind: "step", seq: 1, run: "w1", data: {} }]), RangeError);
  const late = structuredClone(frames[2]);
  assert.throws(() => folded([frames[0], { ...late, seq: 1 }]), RangeError);
});

test("a round that has not begun is there, and has nothing yet", () => {
  const log = folded(framesOf([SETTINGS, SETTINGS]).slice(0, 3));
  assert.deepEqual([log.rounds[1].passes.length, log.rounds[1].end], [0, null]);
  assert.equal(log.study.requests.length, 3);
});

test("the log of something else is known as such, and its frames are passed over", () => {
  const [open] = framesOf();
  const beam = { ...open, data: { study: { kind: "beam" } } };
  const other = folded([beam, { kind: "beams", seq: 1, run: "w1", data: {} }]);
  assert.deepEqual([other.foreign, other.study, other.passes.length, other.nextSeq], [true, null, 0, 2]);
  assert.equal(folded().foreign, false);
});

test("who joins while it goes on is the next of its requests", () => {
  const frames = framesOf();
  const request = { ...frames[0].data.study.requests[0], prompt: "mine", arrives_ms: 12 };
  const joined = [...frames.slice(0, 2), { kind: "asked", data: { number: 3, request } }].map((frame, seq) => ({
    ...{ ...frame, seq, run: "w1" },
  }));
  const log = folded(joined);
  assert.deepEqual([log.study.requests.length, log.begunWith], [4, 3]);
  assert.equal(log.study.requests[3].prompt, "mine");
  assert.equal(log.open.study.requests.length, 3, "what was asked at first stays as it was");
  assert.throws(() => folded([...joined, { ...joined[2], seq: 3 }]), RangeError);
});
