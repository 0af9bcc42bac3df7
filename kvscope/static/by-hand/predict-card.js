/** Lets the reader enter the hidden numbers and checks the answers. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Form } from "../shared/ui/form.js";
import { form, msg, plural } from "../shared/words/msg.js";
import { isRight } from "./predict.js";
import { cellLabel } from "./table.js";

export function Predict({ names, shown, actions }) {
  const left = names.filter((name) => shown.hidden.has(name)).length;
  return html`<section class="own-card stack box predict" aria-label=${msg`Predict it`}>
    <h2>${msg`Predict it`} <span class="muted">${left ? plural(left, form`${left} hidden number, tolerance ±0.001`, form`${left} hidden numbers, tolerance ±0.001`) : msg`all correct`}</span></h2>
    ${names.map((name) => html`<${Guess} key=${name} name=${name} shown=${shown} actions=${actions} />`)}
    <p class="line">
      <button type="button" class="button" onClick=${actions.nextRound}>${msg`Two other numbers`}</button>
      <button type="button" class="button" onClick=${() => actions.predict(false)}>${msg`Show all numbers`}</button>
    </p>
  </section>`;
}

function Guess({ name, shown, actions }) {
  const [text, setText] = useState("");
  const [feedback, setFeedback] = useState("");
  const solved = !shown.hidden.has(name);
  const check = () => {
    const right = isRight(shown.table, name, text);
    if (right) actions.solve(name);
    setFeedback(
      right
        ? ""
        : right === null
          ? msg`This is not a number.`
          : msg`Not correct yet. Calculate it again, or use the hint.`,
    );
  };
  return html`<${Form} class="guess row" onSubmit=${check}>
    <label><span>${cellLabel(shown.table, name)}</span>
      <input inputmode="decimal" autocomplete="off" placeholder=${msg`your number`} value=${text} disabled=${solved}
        onInput=${(event) => setText(event.currentTarget.value)} /></label>
    ${
      solved
        ? html`<b class="word-output">${msg`correct`}</b>`
        : html`<button type="submit" class="button is-main">${msg`Check`}</button>
            <button type="button" class="button" onClick=${() => actions.select(name)}>${msg`Hint`}</button>`
    }
    <p role="status" class="guess-feedback word-bad">${feedback}</p>
  <//>`;
}
