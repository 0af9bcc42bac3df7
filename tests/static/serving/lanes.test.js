import assert from "node:assert/strict";
import { test } from "node:test";
import { barOf, lanesOf, nowOf, passAt, rowsLabel, timeScale } from "../../../kvscope/static/serving/lanes.js";
import { letterOf, lettersOf, ownerClass } from "../../../kvscope/static/serving/owners.js";
import { answersOf } from "../../../kvscope/static/serving/tally.js";
import { columns } from "../support/lists.js";
import { folded, framesOf, REQUESTS } from "./made.js";

const round = folded().rounds[0];
const lanes = lanesOf(round, answersOf(round, REQUESTS));

test("a lane has its waiting, its reading, its outputs and its end", () => {
  const [a, b, c] = lanes;
  assert.deepEqual(a.waits, []);
  assert.deepEqual(a.reads, [{ from: 0, to: 10, rows: 5, pass: 0, again: false }]);
  assert.deepEqual(a.outputs, [10, 30, 40]);
  assert.deepEqual(b.waits, [{ from: 8, to: 10 }]);
  assert.deepEqual(c.waits, [{ from: 15, to: 28 }], "until it gave up");
  assert.deepEqual([c.reads.length, c.end], [0, { what: "cancelled", ms: 28 }]);
});

test("who was set back waits again and is computed again", () => {
  const set = structuredClone(round);
  set.passes[2].events = [{ ms: 30, what: "preempted", request: 1, count: 6, other: null }];
  set.passes[2].members = [set.passes[2].members[0]];
  set.end = null;
  set.passes.push({
    ...structuredClone(set.passes[2]),
    ...{ number: 3, start_ms: 45, ms: 5, events: [] },
    members: [{ request: 1, phase: "prefill", first: 0, rows: 6, token: null }],
  });
  const [, lane] = lanesOf(set, answersOf(set, REQUESTS));
  assert.deepEqual(lane.waits.at(-1), { from: 30, to: 45 });
  assert.deepEqual(columns(lane.reads, "rows", "again"), { rows: [2, 6], again: [false, true] });
  assert.deepEqual(lane.preemptions, [30]);
});

test("while a round goes on, who waits does so until now, and who has not come is not there", () => {
  const begun = folded(framesOf().slice(0, 2)).rounds[0];
  assert.equal(nowOf(begun), 10);
  const [, b, c] = lanesOf(begun, answersOf(begun, REQUESTS));
  assert.deepEqual(b.waits, [{ from: 8, to: 10 }]);
  assert.deepEqual(c.waits, []);
});

test("rows of a pass are counted by what they are for", () => {
  assert.deepEqual(barOf(round.passes[1]), { prefill: 2, decode: 1, guessed: 0, others: 3 });
  assert.equal(rowsLabel(round.passes[1]), "1+2+3 = 6 rows");
  assert.equal(rowsLabel(round.passes[0]), "5 rows");
});

test("the axis ends at a round number after the round, and is never shorter than half a second", () => {
  const ends = [0, 501, 2600, 9900].map((ms) => timeScale(ms, [0, 100]).domain()[1]);
  assert.deepEqual(ends, [500, 600, 3000, 10_000]);
});

test("a time belongs to the pass that runs then, or to the last one before it", () => {
  assert.deepEqual([passAt(round.passes, 12), passAt(round.passes, 999), passAt(round.passes, -1)], [1, 2, null]);
});

test("letters go on after Z, and hues come again", () => {
  assert.deepEqual([0, 23, 25, 26].map(letterOf), ["A", "X", "Z", "A2"]);
  assert.deepEqual([lettersOf([0]), lettersOf([0, 1]), lettersOf([0, 1, 2])], ["A", "A and B", "A, B and C"]);
  assert.equal(ownerClass(12), ownerClass(0));
});
