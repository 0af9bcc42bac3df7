/** A lesson in a room (static/room/): reports its question and its picture, and shows what the presenter's lesson shows. */

import { createPicture } from "../../embed/picture.js";
import { pathOf } from "../../shared/log/root.js";
import { isAnswered } from "./state.js";

/** @param {Window} window @param {{state: () => Object, dispatch: Function, subscribe: Function}} store of the lesson @returns {() => void} ends it */
export function joinRoom(window, store) {
  const picture = createPicture({
    window,
    read: () => ({ lesson: lessonShows(store.state()) }),
    commands: {
      within: ({ address }) => store.dispatch({ type: "link", to: address }),
      reveal: () => store.dispatch({ type: "reveal" }),
      hold: ({ on }) => store.dispatch({ type: "hold", held: on }),
    },
  });
  const unsubscribe = store.subscribe(picture.tell);
  picture.tell();
  return () => {
    unsubscribe();
    picture.dispose();
  };
}

/**
 * @returns {{within: string|null, own: boolean, playing: boolean, answered: boolean, held: boolean, question: {text: string, kind: "choice"|"number",
 *   choices: string[]}|null}} `within`: the address of the picture, once it is that of the step; `own`: whether it shows another run than
 *   the lesson's; `question`: of the step
 */
export function lessonShows(state) {
  const { lesson, index, shown, settled, held } = state;
  const { predict } = lesson.steps[index];
  return {
    within: settled && shown ? withinOf(shown) : null,
    own: shown?.page === "stage" && (lesson.own || shown.run !== lesson.run),
    playing: Boolean(shown?.playing),
    answered: isAnswered(state, index),
    held,
    question: predict && predict.cell === null ? questionOf(predict) : null,
  };
}

/** The Stage names its address from the host's root, other pages from that of the server. */
function withinOf({ page, address }) {
  if (page !== "stage") return address;
  const { pathname, search, hash } = new URL(address, "http://lesson");
  return `${pathOf(pathname)}${search}${hash}`;
}

/** @returns {{text: string, kind: "choice"|"number", choices: string[]}} */
function questionOf({ ask, number, choices, unit }) {
  const text = [plainText(ask), unit && `(${unit})`].filter(Boolean).join(" ");
  return { text, kind: number === null ? "choice" : "number", choices: choices.map(({ text: choice }) => choice) };
}

/** @param {Object[]} nodes of the server's tree @returns {string} their text, in one line */
function plainText(nodes) {
  const texts = nodes.map(({ text, children }) => text ?? (children ? plainText(children) : " "));
  return texts.join("").replace(/\s+/g, " ").trim();
}
