/** Asks for the hidden numbers, and says whether an answer is right. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { isRight } from "./predict.js";
import { sayCell } from "./table.js";

export function Predict({ names, shown, actions }) {
  const left = names.filter((name) => shown.hidden.has(name)).length;
  return html`<section class="own-card stack box predict" aria-label="Predict it">
    <h2>Predict it <span class="muted">${left ? `${left} hidden · 0.001 either way counts` : "all found"}</span></h2>
    ${names.map((name) => html`<${Guess} key=${name} name=${name} shown=${shown} actions=${actions} />`)}
    <p class="line">
      <button type="button" class="button" onClick=${actions.nextRound}>Two others</button>
      <button type="button" class="button" onClick=${() => actions.predict(false)}>Show all numbers</button>
    </p>
  </section>`;
}

function Guess({ name, shown, actions }) {
  const [text, setText] = useState("");
  const [said, setSaid] = useState("");
  const found = !shown.hidden.has(name);
  const check = (event) => {
    event.preventDefault();
    const right = isRight(shown.table, name, text);
    if (right) actions.found(name);
    setSaid(right ? "" : right === null ? "That is no number." : "Not yet: work it out once more, or take the hint.");
  };
  return html`<form class="guess row" onSubmit=${check}>
    <label><span>${sayCell(shown.table, name)}</span>
      <input inputmode="decimal" autocomplete="off" placeholder="your number" value=${text} disabled=${found}
        onInput=${(event) => setText(event.currentTarget.value)} /></label>
    ${
      found
        ? html`<b class="word-output">right</b>`
        : html`<button type="submit" class="button is-main">Check</button>
            <button type="button" class="button" onClick=${() => actions.select(name)}>Hint</button>`
    }
    <p role="status" class="guess-said word-bad">${said}</p>
  </form>`;
}
