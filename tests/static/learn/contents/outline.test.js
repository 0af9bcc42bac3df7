/** Lessons under their parts, and how far this device is in them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { howFar, inParts, stepOf, whereNow } from "../../../../kvscope/static/learn/contents/outline.js";
import { assertEach, pluck } from "../../support/lists.js";

const lesson = (id, steps = 6, minutes = 5) => ({ id, steps, minutes, own: false });

const idsOf = ({ lessons }) => pluck(lessons, "id").join(" ");

test("each lesson is in the last part that begins before it, once and in order", () => {
  const ids = ["00-early", "01-a", "03-b", "07-c", "09-d", "13-e", "17-f", "21-g", "30-new"];
  const parts = inParts(ids.map((id) => lesson(id)));
  assert.deepEqual(pluck(parts, "from"), ["01", "04", "09", "13", "18"]);
  assertEach(parts, idsOf, ["00-early 01-a 03-b", "07-c", "09-d", "13-e 17-f", "21-g 30-new"]);
});

test("lessons that do not ship have their own part, whatever their names", () => {
  const own = ["00-mine", "mine"].map((id) => ({ ...lesson(id), own: true }));
  const parts = inParts([lesson("01-a"), lesson("18-b"), ...own]);
  assert.deepEqual(pluck(parts, "name"), ["The model", "Serving", "Added lessons"]);
  assertEach(parts, idsOf, ["01-a", "18-b", "00-mine mine"]);
  assert.equal(inParts([lesson("01-a")]).length, 1, "no heading without any");
});

test("a lesson counts as read at its last step, and its minutes no longer count as remaining", () => {
  const lessons = [lesson("01-a", 6, 5), lesson("02-b", 6, 7), lesson("03-c", 6, 9)];
  const progress = { "01-a": { step: 5, done: [] }, "02-b": { step: 2, done: [] } };
  assertEach(lessons, (each) => stepOf(each, progress), [6, 3, 0]);
  assert.deepEqual(howFar(lessons, progress), { read: 1, minutes: 16 });
  assert.equal(stepOf(lesson("01-a", 4), progress), 4, "a lesson that became shorter");
});

test("a visitor goes on with the lesson visited last, at its step, then with the first that is not read", () => {
  const lessons = [lesson("01-a"), lesson("02-b"), lesson("03-c")];
  const at = (step) => ({ step, done: [] });
  const now = (progress) => {
    const { lesson, step } = whereNow(lessons, progress);
    return [lesson.id, step];
  };
  assert.deepEqual(now({}), ["01-a", 0]);
  assert.deepEqual(now({ "02-b": at(5), "03-c": at(2) }), ["03-c", 3]);
  assert.deepEqual(now({ "03-c": at(2), "02-b": at(5) }), ["01-a", 0]);
  assert.deepEqual(now({ "01-a": at(5), "03-c": at(5), "02-b": at(5) }), ["01-a", 0]);
  assert.deepEqual(now({ gone: at(1) }), ["01-a", 0]);
  assert.equal(whereNow([], {}), null);
});
