/**
 * The state of a room's page. `room`: as the server sends it (app/http/rooms.py); `over`: why there is no room, "ended" or a problem document;
 * `opened`: the frame's document, which another `count` loads anew; `away`: the viewer looks around. Pure.
 */

import { changed } from "../shared/state/create-store.js";
import { isSamePlace } from "./place.js";

export const initialState = {
  /** Of questions and answers. */
  limits: /** @type {import("../shared/log/limits.js").Limits} */ ({}),
  code: /** @type {string|null} */ (null),
  /** Whoever has it presents. */
  secret: /** @type {string|null} */ (null),
  room: null,
  over: null,
  connected: true,
  opened: { address: /** @type {string|null} */ (null), count: 0 },
  shown: /** @type {import("./place.js").Shown|null} */ (null),
  /** The questions whose answers were shown in this tab. */
  revealed: /** @type {Object[]} */ ([]),
  away: false,
  /** Whether the presenter has moved since the viewer looks around. */
  moved: false,
  attendance: /** @type {{followers: number, answered: number}|null} */ (null),
  /** The viewer's own answer to the question with that number. */
  answer: /** @type {{number: number, text: string}|null} */ (null),
  problem: /** @type {import("../shared/log/problem.js").Problem|null} */ (null),
};

/** @returns {Object[]} the questions with a histogram, with a new one, or the last one with its second vote */
function withRevealed(questions, question) {
  if (!question?.rounds.length) return questions;
  const before = questions.at(-1)?.text === question.text ? questions.slice(0, -1) : questions;
  return [...before, question];
}

const REDUCERS = {
  entered: ({ limits, revealed }, { code }) => ({ ...initialState, limits, revealed, code }),
  room: (state, { room }) => {
    if (state.room && room.seq < state.room.seq) return {};
    const isOther = state.room !== null && !isSamePlace(state.room.place, room.place);
    // A problem is about the question, or about what the presenter did before it.
    const problem = state.room?.question?.number === room.question?.number ? state.problem : null;
    const revealed = withRevealed(state.revealed, room.question);
    return { room, revealed, over: null, problem, moved: state.away && (state.moved || isOther) };
  },
  over: (_state, { over }) => ({ over }),
  connection: (_state, { connected }) => ({ connected }),
  open: (state, { address }) => ({ opened: { address, count: state.opened.count + 1 }, shown: null }),
  shown: (_state, { shown }) => ({ shown }),
  away: (_state, { away }) => ({ away, moved: false }),
  attendance: (_state, { attendance }) => ({ attendance }),
  answer: (_state, { answer }) => ({ answer, problem: null }),
  /** With a secret the page presents, without one it follows. */
  secret: (_state, { secret }) => ({ secret, attendance: null, away: false, moved: false }),
  problem: (_state, { problem }) => ({ problem }),
};

/** @returns {Object} the next state. @throws {RangeError} for an unknown action */
export const reduce = (state, action) => changed(REDUCERS, state, action);

/**
 * @returns {boolean} whether the shown lesson keeps its answer back: everyone's while the room votes on its question, and that of a page that
 *   follows until the presenter shows the answer
 */
export function isHeld(state) {
  const { room, secret, away, shown, over } = state;
  const { question, answered } = shown?.lesson ?? {};
  if (!room || over || !question || answered) return false;
  const waits = !secret && !away && !room.place.answered;
  return waits || (isVoting(state) && room.question.text === question.text);
}

/** @returns {boolean} whether the room votes now */
export function isVoting({ room }) {
  return Boolean(room?.question?.open);
}
