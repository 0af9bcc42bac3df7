import assert from "node:assert/strict";
import { test } from "node:test";
import {
  isNotStored,
  modelFor,
  notedSteps,
  noteInSight,
  notesAround,
  notesOf,
  openingOf,
  placeOf,
  selectionOf,
  sightOf,
} from "../../../../kvscope/static/shared/facts/saved-session.js";
import { assertEach } from "../../support/lists.js";

const note = (step, layer = null, head = null, text = "x") => ({ step, layer, head, text });
const NOTES = [note(4), note(0, 2), note(4, 13, 8), note(2)];

test("a session opens with exactly what its author chose", () => {
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

test("the next note is on the same step or a later one, the previous one likewise before", () => {
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

test("notes on a place and notes on the whole step are visited one at a time", () => {
  const notes = [note(1, 2, 3, "a"), note(1, 2, 3, "b"), note(1, null, null, "c"), note(2)];
  const sight = { step: 1, selection: { layer: 2, head: 3 } };
  const passed = [];
  for (let read = noteInSight(notes, sight); read?.step === 1; read = notesAround(notes, sight, read).after)
    passed.push(`${notesAround(notes, sight, read).number} ${read.text}`);
  assert.deepEqual(passed, ["1 a", "2 b", "3 c"]);
  assert.equal(notesAround(notes, sight, notes[2]).before, notes[1]);
});

test("a note on the selected place comes before one on the whole step", () => {
  const notes = [note(1), note(1, 2, 3)];
  const at = (layer) => noteInSight(notes, { step: 1, selection: { layer, head: 3 } });
  assert.equal(at(2), notes[1]);
  assert.equal(at(4), notes[0]);
  assert.equal(noteInSight(notes, { step: 2, selection: { layer: 2, head: 3 } }), undefined);
  assert.equal(noteInSight(notes, { step: 1, selection: { layer: 4, head: 3 } }, notes[1]), notes[0], "left since");
});

test("going to a note selects a view that shows its subject", () => {
  const open = { step: 0, layer: 13, head: 8, query: 8, key: 1, view: "tokens" };
  const there = { layer: 13, head: 8 };
  assert.deepEqual(sightOf(note(0, 13, 8), open, "cache"), { ...there, query: 8, key: 1, view: "head" });
  assert.deepEqual(sightOf(note(0, 13, 8), open, "pair"), { ...there, query: 8, key: 1, view: "pair" });
  assert.deepEqual(sightOf(note(0, 21, 6), open, "head"), { layer: 21, head: 6, query: 8, key: null, view: "head" });
  assert.deepEqual(sightOf(note(4, 13, 8), open, "head"), { ...there, query: null, key: null, view: "head" });
  assert.deepEqual(sightOf(note(4, 13), open, "time"), { layer: 13, query: null, key: null, view: "block" });
  assert.deepEqual(sightOf(note(4), open, "head"), { query: null, key: null, view: "tokens" });
  assert.deepEqual(sightOf(note(4), null, "head"), { query: null, key: null, view: "head" });
});

test("a note names its layer and head if it has them", () => {
  assert.deepEqual(NOTES.map(selectionOf), [{}, { layer: 2 }, { layer: 13, head: 8 }, {}]);
  assert.deepEqual(NOTES.map(placeOf), ["step 4", "step 0, layer 2", "step 4, layer 13, head 8", "step 2"]);
  assert.deepEqual(selectionOf(note(1, 0, 0)), { layer: 0, head: 0 });
});

test("exact values of a saved run need its model, and a loading model does not help if another one runs", () => {
  const run = { saved: {}, open: { model: { sha256: "a" } } };
  const model = (sha256) => ({ sha256 });
  assert.equal(modelFor(run, { state: "ready", model: model("a") }), "ready");
  assert.equal(modelFor(run, { state: "ready", model: model("b") }), "none");
  assert.equal(modelFor(run, { state: "loading", model: null }), "loading");
  assert.equal(modelFor(run, { state: "offered", model: null }), "loading");
  assert.equal(modelFor(run, { state: "failed", model: null }), "none");
  assert.equal(modelFor(run, { state: "unreachable", model: null }), "none");
  const live = { ...run, saved: null };
  assert.equal(modelFor(live, { state: "failed", model: null }), "loading");
  assert.equal(modelFor(live, { state: "ready", model: model("b") }), "ready");
});

test("a refusal means not stored only for a saved run, and only if the model is missing", () => {
  const saved = { saved: {} };
  assertEach([204, 409, 503, 500, 0], (status) => isNotStored(saved, { status }), [true, true, true, false, false]);
  assert.equal(isNotStored(saved, null), false);
  assert.equal(isNotStored({ saved: null }, { status: 409 }), false);
});
