/** A prediction, compared with the run's value after the reader has answered. Nothing is graded or sent. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { numberOf } from "../../shared/facts/typed-number.js";
import { useFallenFocus } from "../../shared/ui/use-fallen-focus.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Hints } from "./hints.js";
import { useInSight } from "./in-sight.js";
import { Prose } from "./prose.js";
import { isOver } from "./state.js";

/** The id of the question on the page. */
export const QUESTION = "question";

/** @param {{predict: Object, answer: Object|undefined, held: boolean, hints: number, picture: Object, dispatch: Function}} props `held`: a room answers it */
export function Predict({ predict, answer, held, hints, picture, dispatch }) {
  const over = isOver(answer);
  const give = (given) => dispatch({ type: "answer", given });
  const verdict = useInSight([answer]);
  // *Show me*, which had the focus, goes. When a room shows the answer, nobody here has pressed it.
  useFallenFocus(() => (answer?.revealed ? verdict.current : null));
  return html`<section id=${QUESTION} tabindex="-1" class=${`lesson-box lesson-question stack${over ? " is-over" : ""}`} aria-label=${msg`Prediction`}>
    <p class="lesson-ask"><${Prose} nodes=${predict.ask} picture=${picture} /></p>
    ${held && html`<p class="muted">${msg`In this room, the presenter says when this is answered.`}</p>`}
    ${!held && predict.number !== null && html`<${NumberForm} unit=${predict.unit} over=${over} given=${answer?.given} give=${give} />`}
    ${!held && predict.answer !== null && html`<${Choices} predict=${predict} answer=${answer} over=${over} picture=${picture} give=${give} />`}
    ${predict.cell !== null && !over && html`<p class="muted">${msg`Press the place in the picture.`}</p>`}
    <div role="status" tabindex="-1" ref=${verdict}><${Verdict} predict=${predict} answer=${answer} over=${over} picture=${picture} /></div>
    ${!over && !held && html`<${Hints} hints=${predict.hints} open=${hints} block="predict" picture=${picture} dispatch=${dispatch} />`}
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

/** The choices. One that was chosen and is wrong says why. */
function Choices({ predict, answer, over, picture, give }) {
  return html`<div class="stack tight" role="group" aria-label=${msg`Answers`} aria-live="polite">
    ${predict.choices.map(({ text, why }) => {
      const isRight = text === predict.answer;
      const isChosen = answer?.given === text;
      const mark = over && isRight ? " is-right" : isChosen && !isRight ? " is-wrong" : "";
      return html`<div key=${text} class=${`lesson-choice${mark}`}>
        <button type="button" aria-pressed=${isChosen} aria-disabled=${over} onClick=${() => !over && give(text)}>${text}</button>
        ${isChosen && !isRight && why.length > 0 && html`<p class="lesson-why"><${Prose} nodes=${why} picture=${picture} /></p>`}
      </div>`;
    })}
  </div>`;
}

function Verdict({ predict, answer, over, picture }) {
  if (!answer && !over) return null;
  if (answer.problem)
    return html`<p class="word-bad">${msg`“${answer.given}” is not a number. Type one, such as 1,024 or 0.5.`}</p>`;
  const chosen = predict.choices.find(({ text }) => text === answer.given);
  if (!over)
    return chosen?.why.length
      ? null
      : html`<p class="word-bad">${msg`Not that one. Choose again, or open a hint.`}</p>`;
  const tone = answer.right ? "word-output strong" : "strong";
  return html`
    ${
      predict.cell === null
        ? html`<p class=${tone}>${answer.right && !isNear(predict, answer) && "✓ "}${predict.number === null ? rightChoice(predict, answer) : saidNumber(predict, answer)}</p>`
        : answer.right && html`<p class=${tone}>✓ ${msg`Found.`}</p>`
    }
    <p><${Prose} nodes=${predict.because} picture=${picture} /></p>
  `;
}

/** Words the right choice. It may be a word or a whole sentence, so it is not part of another sentence. */
function rightChoice({ answer }, { right }) {
  const value = html`<b>${answer}</b>`;
  return right ? nodes`Right: ${value}` : nodes`The right answer: ${value}`;
}

/** Words the right number, and the one that the reader gave. */
function saidNumber(predict, answer) {
  const strong = (text) => html`<b class="number">${text}</b>`;
  const said = numberOf(answer.given);
  const right = strong(rightNumber(predict));
  if (said === null) return nodes`It is ${right}.`;
  const yours = strong(rightNumber({ ...predict, number: said }));
  return isNear(predict, answer)
    ? nodes`Near enough: you said ${yours}, it is ${right}.`
    : nodes`You said ${yours}, it is ${right}.`;
}

/** @returns {boolean} whether a number counts as right, but is written otherwise than the right one */
function isNear({ number }, { given, right }) {
  const said = numberOf(given);
  return right && number !== null && said !== null && plainNumber(said) !== plainNumber(number);
}

/** @param {{number: number, unit: string}} predict @returns {string} 46,080 B */
export function rightNumber({ number, unit }) {
  return `${plainNumber(number)} ${unit}`.trim();
}

/** @returns {string} 46,080; 0.254; 12.5 */
export function plainNumber(value) {
  if (Number.isInteger(value)) return integer(value);
  return String(Number(value.toPrecision(4)));
}
