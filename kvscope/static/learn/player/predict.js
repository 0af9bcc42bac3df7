/** A prediction, compared with the run's value after the reader has answered. Nothing is graded or sent. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Hints } from "./hints.js";
import { useInSight } from "./in-sight.js";
import { Prose } from "./prose.js";

/** @param {{predict: Object, answer: Object|undefined, hints: number, picture: Object, dispatch: Function}} props */
export function Predict({ predict, answer, hints, picture, dispatch }) {
  const over = Boolean(answer?.right || answer?.revealed);
  const give = (given) => dispatch({ type: "answer", given });
  const verdict = useInSight([answer]);
  const reveal = () => {
    dispatch({ type: "reveal" });
    verdict.current.focus(); // the button that had the focus goes
  };
  return html`<section class=${`lesson-box stack${over ? " is-over" : ""}`} aria-label=${msg`Prediction`}>
    <h2>${msg`Predict, then look`}</h2>
    <p><${Prose} nodes=${predict.ask} picture=${picture} /></p>
    ${predict.number !== null && html`<${NumberForm} unit=${predict.unit} over=${over} given=${answer?.given} give=${give} />`}
    ${predict.answer !== null && html`<${Choices} choices=${predict.choices} answer=${answer} over=${over} right=${predict.answer} give=${give} />`}
    ${predict.cell !== null && !over && html`<p class="muted">${msg`Click the place in the picture.`}</p>`}
    <div role="status" tabindex="-1" ref=${verdict}><${Verdict} predict=${predict} answer=${answer} over=${over} picture=${picture} /></div>
    ${!over && html`<${Hints} hints=${predict.hints} open=${hints} block="predict" picture=${picture} dispatch=${dispatch} />`}
    ${
      !over &&
      (answer?.tries > 0 || hints >= predict.hints.length) &&
      html`<button type="button" class="button small" onClick=${reveal}>${msg`Show the answer`}</button>`
    }
  </section>`;
}

/** Not a form: a sandboxed frame may not submit one. An answered field is read-only and keeps the focus, which a disabled one would lose. */
function NumberForm({ unit, over, given, give }) {
  const [text, setText] = useState(given ?? "");
  const may = !over && text.trim() !== "";
  const check = () => may && give(text);
  return html`<div class="line">
    <input
      class="lesson-number number" inputmode="decimal" autocomplete="off" aria-label=${msg`Your prediction`}
      value=${text} readonly=${over} onInput=${({ target }) => setText(target.value)} onKeyDown=${({ key }) => key === "Enter" && check()}
    />
    ${unit && html`<span>${unit}</span>`}
    <button type="button" class="button" aria-disabled=${!may} onClick=${check}>${msg`Check`}</button>
  </div>`;
}

function Choices({ choices, answer, over, right, give }) {
  return html`<div class="stack tight" role="group" aria-label=${msg`Answers`}>
    ${choices.map(
      (choice) => html`<button
        key=${choice} type="button" class=${`button lesson-choice${over && choice === right ? " is-right" : ""}`}
        aria-pressed=${answer?.given === choice} aria-disabled=${over} onClick=${() => !over && give(choice)}
      >${choice}</button>`,
    )}
  </div>`;
}

function Verdict({ predict, answer, over, picture }) {
  if (!answer && !over) return null;
  if (answer.problem)
    return html`<p class="word-bad">${msg`“${answer.given}” is not a number. Type one, such as 1,024 or 0.5.`}</p>`;
  if (!over) return html`<p class="word-bad">${msg`Not yet. Try again, or open a hint.`}</p>`;
  const tone = answer.right ? "word-output strong" : "strong";
  return html`
    ${
      predict.cell === null
        ? html`<p class=${tone}>${answer.right && "✓ "}${rightAnswer(predict, answer.right)}</p>`
        : answer.right && html`<p class=${tone}>✓ ${msg`Found.`}</p>`
    }
    <p><${Prose} nodes=${predict.because} picture=${picture} /></p>
  `;
}

/** Words the right answer. A choice may be a word or a whole sentence, so it is not part of another sentence. */
function rightAnswer({ number, unit, answer }, right) {
  const text = number === null ? answer : `${plainNumber(number)} ${unit}`.trim();
  const value = html`<b class="number">${text}</b>`;
  if (number !== null) return nodes`It is ${value}.`;
  return right ? nodes`Right: ${value}` : nodes`The right answer: ${value}`;
}

/** @returns {string} 46,080; 0.254; 12.5 */
export function plainNumber(value) {
  if (Number.isInteger(value)) return integer(value);
  return String(Number(value.toPrecision(4)));
}
