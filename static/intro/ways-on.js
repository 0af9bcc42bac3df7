/** Where the intro leads: three questions, and a prompt of one's own. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { PromptField } from "../prompt/prompt-field.js";
import { waysOn } from "./facts.js";

export function WaysOn({ state, dispatch }) {
  const go = ({ step, selection }) => {
    dispatch({ type: "select", selection });
    dispatch({ type: "seek", step });
  };
  return html`<ul class="intro-ways">${waysOn(state).map(
    (way) =>
      html`<li key=${way.question}><button type="button" onClick=${() => go(way)}><b>${way.question}</b> <span>${way.says}</span></button></li>`,
  )}</ul>`;
}

/** A prompt of one's own, answered in the same six moments. */
export function OwnPrompt({ state, dispatch, controller, onClose }) {
  const field = useRef(null);
  useEffect(() => {
    field.current.focus();
    field.current.select();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    controller.submit();
  };
  const onKeyDown = (event) => {
    if (event.key !== "Escape") return;
    event.stopPropagation();
    onClose();
  };
  const { held, opening } = state;
  return html`<form class="intro-own" aria-label="New run" onSubmit=${submit} onKeyDown=${onKeyDown} novalidate>
    <${PromptField}
      state=${state} dispatch=${dispatch} onSubmit=${controller.submit} rows="3"
      placeholder="Begin a sentence, and the model goes on with it" field=${field}
    />
    <div class="intro-actions">
      <button class="intro-main" type="submit">${held || opening ? "Waiting…" : "Run"}</button>
      <button class="intro-other" type="button" onClick=${onClose}>Cancel</button>
    </div>
  </form>`;
}
