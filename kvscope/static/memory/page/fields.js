/** The fields of the form: a number, a choice from a list. The field with the problem is marked. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";
import { withoutSeparators } from "../setup.js";

const [LEAST_CHARACTERS, MOST_CHARACTERS] = [2, 14];
const PLAIN = /^\d{1,15}$/;

function fault(name, problem) {
  return problem?.field === name ? { "aria-invalid": "true", "aria-describedby": "own-wrong" } : {};
}

/** A field for a whole number, with commas in thousands. Typed text keeps its form until the field loses focus. */
export function Whole({ name, label, text, problem, put }) {
  const [draft, setDraft] = useState(null);
  const type = (typed) => {
    setDraft(typed);
    const digits = withoutSeparators(typed);
    put(PLAIN.test(digits) ? digits : typed);
  };
  const step = (event) => {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || !PLAIN.test(text)) return;
    event.preventDefault();
    setDraft(null);
    put(String(Math.max(0, Number(text) + up)));
  };
  const digits = withoutSeparators(text);
  const shown = draft ?? (PLAIN.test(digits) ? integer(Number(digits)) : text);
  const characters = Math.min(MOST_CHARACTERS, Math.max(LEAST_CHARACTERS, shown.length));
  return html`<input
    type="text" inputmode="numeric" autocomplete="off" spellcheck=${false} aria-label=${label} value=${shown}
    style=${{ width: `calc(${characters}ch + 20px)` }} ...${fault(name, problem)} onBlur=${() => setDraft(null)}
    onInput=${(event) => type(event.currentTarget.value)} onKeyDown=${step} />`;
}

export function Choice({ name, label, text, options, problem, put }) {
  return html`<select aria-label=${label} value=${text} ...${fault(name, problem)} onChange=${(event) => put(event.currentTarget.value)}>
    ${!options.some(({ id }) => id === text) && html`<option value=${text} disabled>${msg`choose…`}</option>`}
    ${options.map((each) => html`<option key=${each.id} value=${each.id}>${each.name}</option>`)}
  </select>`;
}
