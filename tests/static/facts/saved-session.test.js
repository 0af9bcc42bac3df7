import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isNotStored,
  modelFor,
  notedSteps,
  notesAround,
  notesOf,
  openingOf,
  placeOf,
  selectionOf,
} from "../../../static/facts/saved-session.js";

const note = (step, layer = null, head = null, text = "x") => ({ step, layer, head, text });
const NOTES = [note(4), note(0, 2), note(4, 13, 8), note(2)];

test("a session opens with what its sharer chose and nothing else", () => {
  assert.deepEqual(openingOf({ open: { step: 0, layer: null, head: 3, query: null, key: null, view: "pair" } }), {
    step: 0,
    head: 3,
    view: "pair",
  });
  assert.deepEqual(openingOf({ open: null }), {});
});

test("notes are found by their step, in the order they were written", () => {
  assert.deepEqual(notedSteps(NOTES), [0, 2, 4]);
  assert.deepEqual(notesOf(NOTES, 4), [NOTES[0], NOTES[2]]);
  assert.deepEqual(notesOf(NOTES, 1), []);
});

test("the next note is the next on the same step, then on a later one; the one before likewise", () => {
  const places = [[0, 2], [4, 13, 8], [4, 14, 3], [6]];
  const notes = places.map(([step, layer, head]) => note(step, layer, head));
  const around = (step, layer, head) => {
    const { before, after } = notesAround(notes, { step, selection: { layer, head } });
    return [notes.indexOf(before), notes.indexOf(after)];
  };
  assert.deepEqual(around(0, 2, 0), [-1, 1]);
  assert.deepEqual(around(4, 13, 8), [0, 2]);
  assert.deepEqual(around(4, 14, 3), [1, 3]);
  assert.deepEqual(around(6, 0, 0), [2, -1]);
  assert.deepEqual(around(4, 0, 0), [0, 1], "elsewhere on a noted step: its first");
  assert.deepEqual(around(5, 0, 0), [2, 3], "on a step without one");
});

test("several notes on one place are passed together", () => {
  const notes = [note(1, 2, 3), note(1, 2, 3), note(1)];
  const { before, after } = notesAround(notes, { step: 1, selection: { layer: 2, head: 3 } });
  assert.deepEqual([before, after], [undefined, undefined]);
});

test("a note points at its layer and head where it has them", () => {
  assert.deepEqual(NOTES.map(selectionOf), [{}, { layer: 2 }, { layer: 13, head: 8 }, {}]);
  assert.deepEqual(NOTES.map(placeOf), ["step 4", "step 0, layer 2", "step 4, layer 13, head 8", "step 2"]);
  assert.deepEqual(selectionOf(note(1, 0, 0)), { layer: 0, head: 0 });
});

test("exact values of a saved run need its own model, and none that loads will do when another is there", () => {
  const run = { saved: {}, open: { model: { sha256: "a" } } };
  const model = (sha256) => ({ sha256 });
  assert.equal(modelFor(run, { state: "ready", model: model("a") }), "ready");
  assert.equal(modelFor(run, { state: "ready", model: model("b") }), "none");
  assert.equal(modelFor(run, { state: "loading", model: null }), "loading");
  assert.equal(modelFor(run, { state: "failed", model: null }), "none");
  assert.equal(modelFor(run, { state: "unreachable", model: null }), "none");
  const live = { ...run, saved: null };
  assert.equal(modelFor(live, { state: "failed", model: null }), "loading");
  assert.equal(modelFor(live, { state: "ready", model: model("b") }), "ready");
});

test("a refusal means not stored only for a saved run, and only when the model is what is missing", () => {
  const saved = { saved: {} };
  assert.deepEqual(
    [409, 503, 500, 0].map((status) => isNotStored(saved, { status })),
    [true, true, false, false],
  );
  assert.equal(isNotStored(saved, null), false);
  assert.equal(isNotStored({ saved: null }, { status: 409 }), false);
});
