/** What a lesson reports to a room. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { lessonShows } from "../../../../kvscope/static/learn/player/in-room.js";
import { initialState, reduce } from "../../../../kvscope/static/learn/player/state.js";

const ASK = [
  {
    t: "paragraph",
    children: [
      { t: "text", text: "How many rows of" },
      { t: "break" },
      { t: "value", text: "9" },
      { t: "text", text: " heads?" },
    ],
  },
];
const NUMBER = { ask: ASK, number: 46080, within: 0, answer: null, cell: null, choices: [], unit: "B" };
const CHOICE = { ask: ASK, number: null, answer: "K", cell: null, unit: "", choices: [{ text: "K" }, { text: "V" }] };
const begin = (predict) => ({
  ...initialState,
  lesson: { id: "x", steps: [{ at: "/#step=3", predict, do: null }] },
});
const shown = { type: "shown", shown: { page: "stage", address: "/s/x#step=3", step: 3, playing: true } };

test("the question is told in plain text, with its unit or its choices", () => {
  const text = "How many rows of 9 heads?";
  assert.deepEqual(lessonShows(begin(NUMBER)).question, { text: `${text} (B)`, kind: "number", choices: [] });
  assert.deepEqual(lessonShows(begin(CHOICE)).question, { text, kind: "choice", choices: ["K", "V"] });
});

test("a step without a question, or with one that the picture answers, has none for the room", () => {
  assert.equal(lessonShows(begin(null)).question, null);
  assert.equal(lessonShows(begin({ ...NUMBER, number: null, cell: { head: { equals: 1 } } })).question, null);
});

test("the picture is told once it shows the step", () => {
  const state = begin(NUMBER);
  assert.equal(lessonShows(state).within, null);
  const earlier = { ...shown, shown: { ...shown.shown, step: 0 } };
  assert.equal(lessonShows(reduce(state, earlier)).within, null);
  const { within, playing } = lessonShows(reduce(state, shown));
  assert.deepEqual({ within, playing }, { within: "/s/x#step=3", playing: true });
});

test("a run of the presenter's own in the picture is told, also once the lesson is computed over it", () => {
  const pictureOf = (lesson, run) => {
    const state = { ...begin(NUMBER), lesson: { ...begin(NUMBER).lesson, ...lesson } };
    return lessonShows(reduce(state, { ...shown, shown: { ...shown.shown, run } })).own;
  };
  assert.equal(pictureOf({ run: "a", own: false }, "a"), false);
  assert.equal(pictureOf({ run: "a", own: false }, "b"), true);
  assert.equal(pictureOf({ run: "b", own: true }, "b"), true);
});

test("an answer and a vote of the room are told", () => {
  const state = reduce(begin(NUMBER), { type: "hold", held: true });
  assert.deepEqual([lessonShows(state).held, lessonShows(state).answered], [true, false]);
  assert.equal(lessonShows(reduce(state, { type: "reveal" })).answered, true);
});
