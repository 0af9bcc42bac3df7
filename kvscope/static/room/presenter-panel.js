/** The presenter's question: typed or taken from the lesson; then how many have answered, and the answers. */

import { html } from "htm/preact";
import { msg } from "../shared/words/msg.js";
import { AskForm } from "./ask-form.js";
import { Histogram } from "./histogram.js";
import { AllAnswers, SaveAnswers } from "./save-answers.js";
import { Sheet } from "./sheet.js";

/** @param {{state: Object, controller: Object, client: () => Object, close: () => void}} props */
export function PresenterPanel({ state, controller, client, close }) {
  const { room, attendance, shown } = state;
  const { question } = room;
  const ask = async (asked) => {
    await controller.ask(asked);
    close();
  };
  if (!question)
    return html`<${Sheet} name=${msg`Ask the room`}><${AskForm} limits=${state.limits} lesson=${shown?.lesson?.question ?? null} ask=${ask} close=${close} />
      ${state.revealed.length > 0 && html`<details class="fold"><summary>${msg`Save the answers`}</summary><${AllAnswers} revealed=${state.revealed} /></details>`}
    <//>`;
  return html`<${Sheet} name=${msg`Question to the room`}>
    <h2 class="room-question" tabindex="-1">${question.text}</h2>
    ${
      question.open
        ? html`<${Voting} question=${question} attendance=${attendance} controller=${controller} />`
        : html`<${Histogram} question=${question} />
          <div class="row">
            <button type="button" class="button is-large" onClick=${controller.askAgain}>${msg`Vote again`}</button>
            <button type="button" class="button is-large" onClick=${controller.closeQuestion}>${msg`Close the question`}</button>
          </div>
          <${SaveAnswers} revealed=${state.revealed} limits=${state.limits} question=${question} shown=${shown} client=${client} />`
    }
  <//>`;
}

/** Who has left may have answered: then there is no number to compare with. */
function answeredInWords(attendance) {
  const { answered, followers } = attendance ?? { answered: 0, followers: 0 };
  return answered > followers ? msg`${answered} have answered` : msg`${answered} of ${followers} have answered`;
}

function Voting({ question, attendance, controller }) {
  return html`
    ${question.choices.length > 0 && html`<ul class="room-choices stack tight">${question.choices.map((choice) => html`<li key=${choice} class="box">${choice}</li>`)}</ul>`}
    <p class="room-answered" role="status">${answeredInWords(attendance)}</p>
    <div class="row">
      <button type="button" class="button is-tall is-main" onClick=${controller.reveal}>${msg`Show the answers`}</button>
      <button type="button" class="button is-large" onClick=${controller.closeQuestion}>${msg`Close the question`}</button>
    </div>
  `;
}
