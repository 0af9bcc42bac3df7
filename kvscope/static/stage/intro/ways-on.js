/** The links at the end of the intro: three questions, and the lessons. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { waysOn } from "./facts.js";

export function WaysOn({ state, dispatch }) {
  const go = ({ step, selection }) => {
    dispatch({ type: "select", selection });
    dispatch({ type: "seek", step });
  };
  return html`<ul class="intro-ways grid">${waysOn(state).map(
    (way) =>
      html`<li key=${way.question}><button class="box stack tight" type="button" onClick=${() => go(way)}><b>${way.question}</b> <span>${way.answer}</span></button></li>`,
  )}${!state.embed && !state.file && html`<li><a class="box stack tight" href=${under("/learn")}><b>${msg`How does it all work?`}</b> <span>${msg`Lessons, one idea at a time, from the first token on.`}</span></a></li>`}</ul>`;
}
