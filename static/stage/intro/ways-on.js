/** The links at the end of the intro: three questions. */

import { html } from "htm/preact";
import { waysOn } from "./facts.js";

export function WaysOn({ state, dispatch }) {
  const go = ({ step, selection }) => {
    dispatch({ type: "select", selection });
    dispatch({ type: "seek", step });
  };
  return html`<ul class="intro-ways grid">${waysOn(state).map(
    (way) =>
      html`<li key=${way.question}><button class="box stack tight" type="button" onClick=${() => go(way)}><b>${way.question}</b> <span>${way.answer}</span></button></li>`,
  )}</ul>`;
}
