/** Progress stays on the device, and what is stored there may be anything. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  answeredIn,
  answersOf,
  readProgress,
  writeProgress,
} from "../../../../kvscope/static/learn/player/progress.js";
import { storageOr } from "../../../../kvscope/static/shared/state/storage.js";

test("each lesson has its own progress", () => {
  const storage = storageOr(() => null);
  writeProgress(storage, "a", { step: 2, done: [0] });
  writeProgress(storage, "b", { step: 0, done: [] });
  assert.deepEqual(readProgress(storage), { a: { step: 2, done: [0] }, b: { step: 0, done: [] } });
});

test("unreadable progress counts as none", () => {
  for (const text of ["{", "null", "3", '"x"'])
    assert.deepEqual(readProgress({ getItem: () => text, setItem() {} }), {});
});

test("a step answered on an earlier visit shows its answer", () => {
  const answers = { 0: { right: true }, 2: { right: false, revealed: true }, 3: { right: false } };
  assert.deepEqual(answeredIn({ answers }), [0, 2]);
  assert.deepEqual(answeredIn({ answers: answersOf({ step: 3, done: [], answered: [0, 2] }) }), [0, 2]);
  assert.deepEqual(answersOf(undefined), {});
});
