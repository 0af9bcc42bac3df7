/** Progress stays on the device, and what is stored there may be anything. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answersOf,
  reachedIn,
  readProgress,
  stepOfHash,
  writeProgress,
} from "../../../../kvscope/static/learn/player/progress.js";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";

test("each lesson has its own progress", () => {
  const storage = storageOr(() => null);
  writeProgress(storage, "a", { step: 2, done: [0] });
  writeProgress(storage, "b", { step: 0, done: [] });
  assert.deepEqual(readProgress(storage), { a: { step: 2, done: [0] }, b: { step: 0, done: [] } });
});

test("the lesson visited last is the last one", () => {
  const storage = storageOr(() => null);
  for (const id of ["a", "b", "a"]) writeProgress(storage, id, { step: 0, done: [] });
  assert.deepEqual(Object.keys(readProgress(storage)), ["b", "a"]);
});

test("unreadable progress counts as none", () => {
  for (const text of ["{", "null", "3", '"x"'])
    assert.deepEqual(readProgress({ getItem: () => text, setItem() {} }), {});
});

test("a step answered on an earlier visit shows its answer", () => {
  const answers = {
    0: { given: "b", right: true },
    2: { given: "7", right: false, revealed: true },
    3: { given: "a", right: false },
  };
  const reached = reachedIn({ index: 3, done: [1], answers, asked: [5] });
  assert.deepEqual(reached.answered, [5, 0, 2]);
  assert.deepEqual(reached.given, { 0: { given: "b", right: true }, 2: { given: "7", right: false } });
  const later = answersOf(reached);
  assert.deepEqual([later[0].right, later[2].given, later[2].revealed, later[3]], [true, "7", true, undefined]);
  assert.equal(later[5].given, "");
  assert.deepEqual(answersOf(undefined), {});
});

test("progress that an earlier version stored has the answered steps alone", () => {
  const answers = answersOf({ step: 3, done: [], answered: [0, 2] });
  assert.deepEqual(Object.keys(answers), ["0", "2"]);
  assert.deepEqual([answers[2].given, answers[2].revealed], ["", true]);
});

test("an address names a step, and one beyond the end the last", () => {
  assert.deepEqual(
    ["#1", "#7", "#8", "#999"].map((hash) => stepOfHash(hash, 7)),
    [0, 6, 6, 6],
  );
  assert.deepEqual(
    ["", "#0", "#x", "#1000", "#-1"].map((hash) => stepOfHash(hash, 7)),
    [null, null, null, null, null],
  );
});
