/** Other starting points than a lesson: questions, each with the place of its answer, and pages to look things up. */

import { html } from "htm/preact";
import { under } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";

/** Lists questions that people ask, each with the lesson that answers it. */
export function Questions({ questions }) {
  if (questions.length === 0) return null;
  return html`<section class="stack" aria-labelledby="questions">
    <h2 id="questions">${msg`Start from a question`}</h2>
    <ul class="learn-questions" lang="en">
      ${questions.map(({ ask, leads }) => html`<li key=${ask}><a href=${under(leads)}>${ask}</a></li>`)}
    </ul>
  </section>`;
}

const PAGES = [
  ["/learn/reference", msg`Reference`, msg`Symbols, shapes and number formats, with this model’s numbers`],
  ["/learn/loop", msg`Loop calculator`, msg`How many rows a prompt and its answer cost, with a cache and without`],
  ["/learn/formulas", msg`Formulas`, msg`A sheet to print, with the numbers of this model or another one`],
  [
    "/learn/figures",
    msg`Printed figures`,
    msg`640 MB, 524 MB, a million times: figures that texts print, beside the right ones`,
  ],
  [
    "/learn/state",
    msg`Where state lives`,
    msg`Which process and device of this server holds what, and what losing it costs`,
  ],
  ["/learn/words", msg`Words on a plane`, msg`Several words of your own, by their embeddings`],
];

/** Lists pages to look things up. */
export function Pages() {
  return html`<section class="stack" aria-labelledby="look-up">
    <h2 id="look-up">${msg`Look something up`}</h2>
    <ul class="learn-pages">
      ${PAGES.map(([address, name, about]) => html`<li key=${address} class="box"><a class="strong" href=${under(address)}>${name}</a><p class="muted">${about}</p></li>`)}
    </ul>
  </section>`;
}
