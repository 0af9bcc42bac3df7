/** What the presenter asks: the question of the shown step of a lesson, or one that the presenter types. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { mostOf } from "../shared/log/limits.js";
import { Form } from "../shared/ui/form.js";
import { msg } from "../shared/words/msg.js";

const FEWEST_CHOICES = 2;

const KINDS = [
  { id: "choice", name: msg`Choices` },
  { id: "number", name: msg`A number` },
  { id: "token", name: msg`A token` },
];

/** @param {{limits: import("../shared/log/limits.js").Limits, lesson: {text: string, kind: string, choices: string[]}|null, ask: (question: Object) => Promise<void>, close: () => void}} props `lesson`: its question; `ask`: may throw Problem */
export function AskForm({ limits, lesson, ask, close }) {
  const [text, setText] = useState("");
  const [kind, setKind] = useState("choice");
  const [choices, setChoices] = useState(["", ""]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState(/** @type {any} */ (null));
  const change = (at, value) => setChoices(choices.with(at, value));
  const isChoice = kind === "choice";
  const send = async (question) => {
    if (busy) return;
    setBusy(true);
    setProblem(null);
    try {
      await ask(question);
    } catch (refusal) {
      setProblem(refusal);
      setBusy(false);
    }
  };
  const sendTyped = () =>
    send({ text: text.trim(), kind, choices: isChoice ? choices.map((each) => each.trim()) : [] });
  return html`
    <div class="line between">
      <h2>${msg`Ask the room`}</h2>
      <button type="button" class="button" onClick=${close}>${msg`Close`}</button>
    </div>
    ${
      lesson &&
      html`<section class="box stack">
        <p class="muted small">${msg`The question of this step`}</p>
        <p>${lesson.text}</p>
        <p><button type="button" class="button is-tall is-main" aria-disabled=${busy} onClick=${() => send(lesson)}>${msg`Ask this`}</button></p>
      </section>`
    }
    <${Form} class="stack wide" onSubmit=${sendTyped}>
      <label class="stack tight">${lesson ? msg`Or another question` : msg`Question`}
        <textarea rows="2" maxlength=${mostOf(limits, "question", "text")} required value=${text} onInput=${({ target }) => setText(target.value.replaceAll("\n", " "))}></textarea>
      </label>
      <div class="choice room-kinds" role="group" aria-label=${msg`The followers answer with`}>
        ${KINDS.map(({ id, name }) => html`<button key=${id} type="button" aria-pressed=${id === kind} onClick=${() => setKind(id)}>${name}</button>`)}
      </div>
      ${
        isChoice &&
        html`<ol class="stack tight">
          ${choices.map(
            (choice, at) => html`<li key=${at} class="line">
              <input
                class="grow" aria-label=${msg`Choice ${at + 1}`} maxlength=${mostOf(limits, "vote", "answer")} required placeholder=${msg`Choice ${at + 1}`} value=${choice}
                onInput=${({ target }) => change(at, target.value)}
              />
              ${choices.length > FEWEST_CHOICES && html`<button type="button" class="button" aria-label=${msg`Remove choice ${at + 1}`} onClick=${() => setChoices(choices.toSpliced(at, 1))}>×</button>`}
            </li>`,
          )}
        </ol>
        ${choices.length < mostOf(limits, "question", "choices") && html`<p><button type="button" class="link-button" onClick=${() => setChoices([...choices, ""])}>${msg`Add a choice`}</button></p>`}`
      }
      <p><button type="submit" class=${`button is-tall${lesson ? "" : " is-main"}`} aria-disabled=${busy}>${msg`Ask`}</button></p>
    <//>
    <div role="alert">${problem && html`<p class="word-bad">${problem.detail || problem.title}</p>`}</div>
  `;
}
