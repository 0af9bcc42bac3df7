/** The steps of a lesson as a row of buttons. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";
import { isDone } from "./state.js";

/** @param {{state: Object, go: (to: number) => void}} props */
export function Steps({ state, go }) {
  const { lesson, index } = state;
  return html`<ol class="lesson-steps line" aria-label=${msg`Steps of the lesson`}>
    ${lesson.steps.map((_step, at) => {
      const done = at < index && isDone(state, at);
      const name = done ? msg`Step ${at + 1}, done` : msg`Step ${at + 1}`;
      return html`<li key=${at}><button
        type="button" aria-label=${name} title=${name} aria-current=${at === index ? "step" : null} data-done=${done || null}
        onClick=${() => go(at)}
      ></button></li>`;
    })}
  </ol>`;
}
