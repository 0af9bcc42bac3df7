/** The state of a room's page. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { initialState, isHeld, isVoting, reduce } from "../../../kvscope/static/room/state.js";

const room = (seq, address = "/", question = null) => ({
  ...{ code: "ABCD2345", seq, expires: 9, question: question && { text: "Which?", rounds: [], ...question } },
  place: { address, within: null, playing: false, answered: false },
});
const play = (...actions) => actions.reduce(reduce, initialState);
const entered = { type: "entered", code: "ABCD2345" };

test("an older state of the room that comes late changes nothing", () => {
  const state = play(entered, { type: "room", room: room(5, "/memory") }, { type: "room", room: room(4, "/") });
  assert.equal(state.room.place.address, "/memory");
});

test("who looks around learns that the presenter has moved on, until the return", () => {
  const away = play(entered, { type: "room", room: room(1) }, { type: "away", away: true });
  assert.equal(
    reduce(away, { type: "room", room: room(2, "/", { open: true }) }).moved,
    false,
    "a question is no move",
  );
  const moved = reduce(away, { type: "room", room: room(2, "/memory") });
  assert.equal(moved.moved, true);
  assert.equal(reduce(moved, { type: "room", room: room(3, "/memory", { open: true }) }).moved, true);
  assert.equal(reduce(moved, { type: "away", away: false }).moved, false);
  const following = play(entered, { type: "room", room: room(1) }, { type: "room", room: room(2, "/memory") });
  assert.equal(following.moved, false);
});

test("each opened address is a new document, which shows nothing yet", () => {
  const state = play({ type: "open", address: "/" }, { type: "shown", shown: {} }, { type: "open", address: "/" });
  assert.deepEqual(state.opened, { address: "/", count: 2 });
  assert.equal(state.shown, null);
});

test("a room whose secret is another one's is followed", () => {
  const attendance = { type: "attendance", attendance: { followers: 1, answered: 0 } };
  const state = play(entered, { type: "secret", secret: "x" }, attendance);
  assert.equal(state.secret, "x");
  const after = reduce(state, { type: "secret", secret: null });
  assert.deepEqual([after.secret, after.attendance], [null, null]);
});

test("who looks around and then presents no longer looks around", () => {
  const state = play(entered, { type: "away", away: true }, { type: "secret", secret: "x" });
  assert.equal(state.away, false);
});

test("a problem goes with the question that it was about", () => {
  const asked = (seq, number) => ({ type: "room", room: room(seq, "/", { number, open: true }) });
  const problem = { type: "problem", problem: { title: "This vote has ended." } };
  const state = play(entered, asked(1, 1), problem, asked(2, 1));
  assert.equal(state.problem, problem.problem);
  assert.equal(reduce(state, asked(3, 2)).problem, null);
  assert.equal(reduce(state, { type: "room", room: room(3) }).problem, null);
});

test("a room votes while its question is open, and an answer ends the last problem", () => {
  assert.equal(isVoting(play({ type: "room", room: room(1, "/", { open: true }) })), true);
  assert.equal(isVoting(play({ type: "room", room: room(1, "/", { open: false }) })), false);
  assert.equal(isVoting(initialState), false);
  const state = play({ type: "problem", problem: {} }, { type: "answer", answer: { number: 1, text: "K" } });
  assert.equal(state.problem, null);
});

test("a room that is open again after a problem is not over", () => {
  const state = play(entered, { type: "over", over: "ended" }, { type: "room", room: room(1) });
  assert.equal(state.over, null);
});

test("the answers that were shown stay when the question goes, and a second vote replaces the first", () => {
  const shown = (number, text, rounds) => ({
    type: "room",
    room: room(number, "/", { number, text, open: false, rounds }),
  });
  const [one, two] = [
    { counts: { K: 1 }, others: 0 },
    { counts: { V: 1 }, others: 0 },
  ];
  const state = play(entered, shown(1, "First?", [one]), shown(2, "First?", [one, two]), shown(3, "Second?", [two]), {
    type: "room",
    room: room(4),
  });
  assert.deepEqual(
    state.revealed.map(({ text, rounds }) => [text, rounds.length]),
    [
      ["First?", 2],
      ["Second?", 1],
    ],
  );
});

test("a follower's lesson keeps its answer back until the presenter shows it, unless the follower looks around", () => {
  const lesson = { question: { text: "Which?" }, answered: false, held: false };
  const at = (more) => ({ ...initialState, room: room(1), shown: { address: "/", stage: null, lesson }, ...more });
  assert.equal(isHeld(at({})), true);
  assert.equal(isHeld(at({ away: true })), false);
  assert.equal(isHeld(at({ over: "ended" })), false);
  assert.equal(isHeld(at({ secret: "x" })), false);
  const voting = { room: room(1, "/", { number: 1, open: true }) };
  assert.equal(isHeld(at({ away: true, ...voting })), true);
  assert.equal(isHeld(at({ secret: "x", ...voting })), true);
  const answered = { ...room(1), place: { ...room(1).place, answered: true } };
  assert.equal(isHeld(at({ room: answered })), false);
});
