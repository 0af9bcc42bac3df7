/** A lesson on paper: each step with its picture, its question and lines to write on; then the key, on a page of its own. */

import { html } from "htm/preact";
import { linkTo } from "../../shared/log/root.js";
import { msg } from "../../shared/words/msg.js";
import { rightNumber } from "./predict.js";
import { Prose } from "./prose.js";

/**
 * @param {{lesson: Object, picture: Object, pictures: Object<number, import("./use-printing.js").Paper>, file: boolean}} props
 *   `picture`: as in `Prose`; `pictures`: of `usePrinting`; `file`: the lesson is a saved file, without an address
 */
export function Handout({ lesson, picture, pictures, file }) {
  const { id, title, steps } = lesson;
  return html`<div class="lesson-handout">
    <h1>${title}</h1>
    ${!file && html`<p>${linkTo(`/learn/${id}`)}</p>`}
    ${steps.map(
      (step, at) => html`<section key=${at}>
        <h2>${at + 1}. <${Prose} nodes=${step.title} picture=${picture} /></h2>
        <${Prose} nodes=${step.prose} picture=${picture} />
        ${step.at && html`<${Paper} pictures=${pictures} at=${at} />`}
        ${step.predict && html`<${Question} predict=${step.predict} picture=${picture} />`}
        ${step.do && html`<p>☐ <${Prose} nodes=${step.do.task} picture=${picture} /></p>`}
      </section>`,
    )}
    <section class="lesson-key">
      <h1>${msg`Key: ${title}`}</h1>
      ${steps.map((step, at) => (step.predict || step.do) && html`<${Answers} key=${at} step=${step} number=${at + 1} picture=${picture} />`)}
    </section>
  </div>`;
}

/** Of a picture's size on the page. On paper, type of 12 pixels then has six points. */
const SCALE = 0.66;

/** The picture of a step, the number of the step that has the same one, or why it is missing. */
function Paper({ pictures, at }) {
  const paper = pictures[at];
  const number = at + 1;
  if (!paper?.url)
    return html`<p class="lesson-no-picture">${
      paper
        ? msg`The picture of step ${number} is missing: ${paper.problem}`
        : msg`The picture of step ${number} is missing: only the button Print on the page of this lesson adds pictures.`
    }</p>`;
  const first = Object.keys(pictures).find((each) => pictures[each].url === paper.url);
  if (Number(first) < at)
    return html`<p class="lesson-no-picture">${msg`See the picture of step ${Number(first) + 1}.`}</p>`;
  return html`<img src=${paper.url} width=${Math.round(paper.width * SCALE)} alt=${msg`What the page shows in step ${number}`} />`;
}

/** A question with boxes to tick, or a place for a number, and lines for the reason. */
function Question({ predict, picture }) {
  return html`<p><b><${Prose} nodes=${predict.ask} picture=${picture} /></b></p>
    ${predict.choices.map(({ text }) => html`<p key=${text}>☐ ${text}</p>`)}
    ${predict.number !== null && html`<p class="lesson-line">${msg`Your prediction`}: <span></span> ${predict.unit}</p>`}
    <p class="lesson-line">${msg`Because`}: <span></span></p>
    <p class="lesson-line"><span></span></p>`;
}

function Answers({ step: { title, predict, do: task, after }, number, picture }) {
  return html`<section>
    <h2>${number}. <${Prose} nodes=${title} picture=${picture} /></h2>
    ${
      predict &&
      html`<p>${predict.cell === null && html`<b>${predict.number === null ? predict.answer : rightNumber(predict)}</b>. `}<${Prose} nodes=${predict.because} picture=${picture} /></p>
        <ul>
          ${predict.choices
            .filter(({ text, why }) => text !== predict.answer && why.length > 0)
            .map(({ text, why }) => html`<li key=${text}>${text}: <${Prose} nodes=${why} picture=${picture} /></li>`)}
        </ul>`
    }
    <${Prose} nodes=${after} picture=${picture} />
    ${task && html`<p>☑ <${Prose} nodes=${task.done} picture=${picture} /></p>`}
  </section>`;
}
