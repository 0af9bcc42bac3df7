/** Opens, follows and presents rooms. All state is in the store; this module connects it with the server and the frame. */

import { msg } from "../shared/words/msg.js";
import { followRoom } from "./following.js";
import { createMoving } from "./moving.js";
import { isHeld, isVoting } from "./state.js";

/** Intervals between questions for the numbers of followers and of answers, in ms. */
const COUNT_MS = 5000;
const COUNT_VOTING_MS = 1000;
/** After this time a place is sent again that could not be sent, in ms. */
const AGAIN_MS = 2000;

/**
 * @param {Object} parts
 * @param {Object} parts.store
 * @param {Object} parts.api of `createApi`
 * @param {Object} parts.frame of `createFrame`
 * @param {Object} parts.secrets of `createSecrets`
 * @param {() => Object} parts.connect opens a socket
 * @param {string} parts.client the client's token
 * @param {string} parts.voter the random id of this page
 * @param {(listener: (how: "back"|"offline") => void) => () => void} parts.presence
 * @param {(ms: number) => Promise<void>} parts.delay
 * @param {() => number} parts.now in ms
 */
export function createController({ store, api, frame, secrets, connect, client, voter, presence, delay, now }) {
  const { state, dispatch } = store;
  /** What the secret allows, of `api.presenting`. */
  let presenting = null;
  /** Asks for the room by socket; null before the room is entered. */
  let ask = null;
  /** Why the last place was not shown. */
  let unshown = null;

  const show = async (place) => {
    const used = presenting;
    try {
      dispatch({ type: "room", room: await used.show(place) });
      if (unshown && state().problem === unshown) dispatch({ type: "problem", problem: null });
      unshown = null;
      return false;
    } catch (problem) {
      unshown = problem;
      refused(problem, used);
      if (problem.status >= 400 && problem.status < 500) return false;
      await delay(AGAIN_MS);
      return true;
    }
  };
  const moving = createMoving({ store, frame, now, show, later: setTimeout });

  /** Takes a refusal of a request that was made with `used`: the room may have ended, or the secret may be another room's. */
  const refused = (problem, used) => {
    if (problem.status === 404) end(problem);
    if (problem.status !== 403) dispatch({ type: "problem", problem });
    else if (used === presenting) disown(problem);
  };

  /** A wrong secret came with the address, or was stored: the stored one may be right. */
  const disown = (problem) => {
    const { code, secret } = state();
    const stored = secrets.of(code);
    if (stored && stored !== secret) {
      present(stored);
      return;
    }
    secrets.forget(code);
    present(null);
    dispatch({ type: "problem", problem });
  };

  const end = (why) => {
    secrets.forget(state().code);
    dispatch({ type: "over", over: why });
    hold();
  };

  /** Sends what a presenter wants, and takes the room as it is then. @throws {Problem} */
  const send = async (request) => {
    const used = presenting;
    try {
      dispatch({ type: "room", room: await request(used) });
      hold();
    } catch (problem) {
      if (problem.status === 403 || problem.status === 404) refused(problem, used);
      throw problem;
    } finally {
      count();
    }
  };
  let changing = false;
  /** A second press of the same button, before the answer to the first, does nothing. */
  const change = async (request) => {
    if (changing) return;
    changing = true;
    dispatch({ type: "problem", problem: null });
    await send(request).catch((problem) => dispatch({ type: "problem", problem }));
    changing = false;
  };

  /** A lesson whose question the room answers does not answer it itself (`isHeld`). */
  const hold = () => {
    const { lesson } = state().shown ?? {};
    const on = isHeld(state());
    if (lesson && lesson.held !== on) frame.send({ type: "hold", on });
  };

  let timer = null;
  const count = async () => {
    clearTimeout(timer);
    const { code, secret, over, room } = state();
    if (!secret || over) return;
    const used = presenting;
    try {
      const attendance = await used.attendance();
      if (used !== presenting) return;
      dispatch({ type: "attendance", attendance });
      if (secrets.of(code) !== secret) secrets.add(code, secret, room.expires);
    } catch (problem) {
      // The number comes again; whether the connection is there, the socket says.
      if (problem.status === 403 || problem.status === 404) refused(problem, used);
    }
    clearTimeout(timer);
    timer = setTimeout(count, isVoting(state()) ? COUNT_VOTING_MS : COUNT_MS);
  };

  const onRoom = (room) => {
    const { room: before } = state();
    dispatch({ type: "room", room });
    moving.onRoom(before?.place ?? null);
    hold();
    if (!before || before.question?.number !== room.question?.number) count();
  };

  /** Presents with a secret, and follows without one: from where the room is. */
  const present = (secret) => {
    presenting = secret && api.presenting(state().code, secret);
    dispatch({ type: "secret", secret });
    if (!state().room) return;
    moving.go();
    ask();
    count();
  };

  /** @param {string|null} given the secret in the address */
  const enter = (code, given) => {
    dispatch({ type: "entered", code });
    present(given ?? secrets.of(code));
    ask = followRoom({
      ...{ code, client, delay, socket: connect() },
      presents: () => state().secret !== null,
      read: () => api.room(code),
      handlers: {
        onRoom,
        onOver: end,
        onConnection(connected) {
          if (connected !== state().connected) dispatch({ type: "connection", connected });
          if (connected) moving.tell();
        },
      },
    });
    presence((how) => (how === "offline" ? dispatch({ type: "connection", connected: false }) : ask()));
  };

  return {
    enter,
    present,

    /** Shows another page in the frame, as its own links do. */
    visit(address) {
      if (!state().secret) dispatch({ type: "away", away: true });
      moving.onTouch();
      dispatch({ type: "open", address });
    },

    onShown(shown) {
      dispatch({ type: "shown", shown });
      moving.onShown();
      hold();
    },
    onTouch: moving.onTouch,

    lookAround() {
      dispatch({ type: "away", away: true });
      hold();
    },
    comeBack() {
      dispatch({ type: "away", away: false });
      moving.go();
      hold();
    },

    /** @param {{text: string, kind: string, choices: string[]}} question @throws {Problem} */
    ask: (question) => send((room) => room.ask(question)),
    askAgain: () => change((room) => room.askAgain()),
    reveal: () => change((room) => room.reveal()),
    closeQuestion: () => change((room) => room.closeQuestion()),

    async end() {
      const used = presenting;
      try {
        await used.end();
        end("ended");
      } catch (problem) {
        refused(problem, used);
      }
    },

    /** Sends a follower's answer to the open question. */
    async answer(text) {
      const { code, room } = state();
      const { number } = room.question;
      try {
        await api.answer(code, number, text, voter);
        dispatch({ type: "answer", answer: { number, text } });
      } catch (problem) {
        const lost = { ...problem, detail: msg`Your answer did not arrive. Answer again.` };
        dispatch({ type: "problem", problem: problem.status >= 400 ? problem : lost });
      }
    },
  };
}
