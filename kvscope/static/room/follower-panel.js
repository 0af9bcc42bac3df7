/** The question to a follower: the form of the answer while the room votes, then the answers of all. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { mostOf } from "../shared/log/limits.js";
import { Form } from "../shared/ui/form.js";
import { msg } from "../shared/words/msg.js";
import { inDigits, plainNumberOf, plainTokenOf } from "./answers.js";
import { Histogram } from "./histogram.js";
import { Sheet } from "./sheet.js";

/** @param {{state: Object, controller: Object}} props */
export function FollowerPanel({ state, controller }) {
  const { question } = state.room;
  const own = state.answer?.number === question.number ? state.answer.text : null;
  return html`<${Sheet} name=${msg`Question to the room`}>
    <h2 class="room-question" tabindex="-1">${question.text}</h2>
    ${
      question.open
        ? html`<${question.kind === "choice" ? Choices : Typed} question=${question} own=${own} most=${mostOf(state.limits, "vote", "answer")} answer=${controller.answer} />
          <p class="muted" role="status">${own === null ? msg`Nobody sees who answered what.` : msg`Your answer counts. You can change it until the presenter shows the answers.`}</p>`
        : html`<${Histogram} question=${question} own=${own} />`
    }
  <//>`;
}

function Choices({ question, own, answer }) {
  return html`<div class="stack" role="group" aria-label=${msg`Answers`}>
    ${question.choices.map(
      (choice) => html`<button
        key=${choice} type="button" class="button room-choice" aria-pressed=${choice === own} onClick=${() => answer(choice)}
      >${choice}</button>`,
    )}
  </div>`;
}

/** A number, or a token. A number is sent as digits, so that 1,024 and 1024 are one answer. */
function Typed({ question, own, most, answer }) {
  const [text, setText] = useState("");
  const [wrong, setWrong] = useState(false);
  const isNumber = question.kind === "number";
  const send = () => {
    const sent = isNumber ? plainNumberOf(text) : plainTokenOf(text);
    setWrong(isNumber && sent === null);
    if (sent) answer(sent);
  };
  return html`<${Form} class="stack" onSubmit=${send}>
    <div class="line">
      <input
        class="room-typed number grow" aria-label=${msg`Your answer`} autocomplete="off" autocapitalize="off" maxlength=${most} required
        inputmode=${isNumber ? "decimal" : "text"} aria-invalid=${wrong} value=${text} onInput=${({ target }) => setText(target.value)}
      />
      <button type="submit" class="button is-tall">${own === null ? msg`Answer` : msg`Change`}</button>
    </div>
    <p class="muted">${isNumber ? msg`A point stands before decimals: 0.5. A comma may stand between thousands: 1,024.` : msg`One token, without the space before it.`}</p>
    ${wrong && html`<p class="word-bad" role="alert">${msg`“${text}” is not a number. Type one, such as 1,024 or 0.5.`}</p>`}
    ${own !== null && html`<p>${msg`Your answer:`} <b class="number">${inDigits(question, own)}</b></p>`}
  <//>`;
}
