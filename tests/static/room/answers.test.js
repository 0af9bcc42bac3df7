/** What is sent as an answer, and how often each was chosen. */

import assert from "node:assert/strict";
import { test } from "node:test";
import {
  countsOf,
  inWords,
  plainNumberOf,
  plainTokenOf,
  shareOf,
  shortened,
} from "../../../kvscope/static/room/answers.js";

const question = (kind, rounds, choices = []) => ({ text: "Which?", kind, choices, rounds });

test("a number is sent as digits, however it was typed", () => {
  const typed = ["1,024", "46 080", "4.6e4", "0,5", "−3", "1e-7", "0.1", "1.50", "100"];
  assert.deepEqual(typed.map(plainNumberOf), ["1024", "46080", "46000", "0.5", "-3", "0.0000001", "0.1", "1.5", "100"]);
  for (const text of ["", "many", "1e15", "-1e300"]) assert.equal(plainNumberOf(text), null, text);
});

test("a token is sent without the space before it, however that is written", () => {
  assert.deepEqual(["·Paris", " Paris", "Paris ", "New York"].map(plainTokenOf), [
    "Paris",
    "Paris",
    "Paris",
    "New York",
  ]);
});

test("choices are listed in their order, also those that nobody chose, with each vote", () => {
  const rounds = [
    { counts: { V: 3 }, others: 0 },
    { counts: { K: 2, V: 1 }, others: 0 },
  ];
  assert.deepEqual(countsOf(question("choice", rounds, ["K", "V", "both"])), [
    { answer: "K", votes: [0, 2] },
    { answer: "V", votes: [3, 1] },
    { answer: "both", votes: [0, 0] },
  ]);
});

test("numbers are listed by size, other texts by how often they were given, and the rest together", () => {
  const answersOf = (kind, counts) => countsOf(question(kind, [{ counts, others: 0 }])).map(({ answer }) => answer);
  assert.deepEqual(answersOf("number", { 9: 1, "-3": 5, 10.5: 2 }), ["-3", "9", "10.5"]);
  assert.deepEqual(answersOf("token", { the: 1, a: 4 }), ["a", "the"]);
  assert.deepEqual(countsOf(question("token", [{ counts: { a: 1 }, others: 2 }]))[1], {
    answer: "other answers",
    votes: [2],
  });
});

test("answers are written with their shares of each vote", () => {
  const once = question("choice", [{ counts: { K: 1, V: 3 }, others: 0 }], ["K", "V"]);
  assert.equal(inWords(once), "Which?\n4 answers\nK: 1 (25 %)\nV: 3 (75 %)");
  const twice = { ...once, rounds: [...once.rounds, { counts: { K: 1 }, others: 0 }] };
  assert.equal(
    inWords(twice),
    "Which?\nvote 1: 4 answers · vote 2: 1 answer\nK: 1 (25 %), 1 (100 %)\nV: 3 (75 %), 0 (0 %)",
  );
  assert.equal(shareOf(0, 0), "0 %");
});

test("an answer that a vote does not list has no number there if it may be among the others", () => {
  const rounds = [
    { counts: { constructor: 3, a: 2 }, others: 0 },
    { counts: { b: 4 }, others: 5 },
  ];
  assert.deepEqual(countsOf(question("token", rounds)), [
    { answer: "b", votes: [0, 4] },
    { answer: "constructor", votes: [3, null] },
    { answer: "a", votes: [2, null] },
    { answer: "other answers", votes: [0, 5] },
  ]);
  assert.match(inWords(question("token", rounds)), /constructor: 3 \(60 %\), among the others/);
});

test("an answer with the name of a property of objects was not given by nobody", () => {
  const rounds = [
    { counts: { constructor: 3 }, others: 0 },
    { counts: { b: 4 }, others: 0 },
  ];
  assert.deepEqual(countsOf(question("token", rounds))[1], { answer: "constructor", votes: [3, 0] });
});

test("a text is shortened by whole characters", () => {
  assert.equal(shortened("Which one?", 10), "Which one?");
  assert.equal(shortened("Which one is it?", 10), "Which one…");
  assert.equal(shortened("😀😀😀😀", 3), "😀😀…");
  assert.equal(shortened("Which one?"), "Which one?");
});
