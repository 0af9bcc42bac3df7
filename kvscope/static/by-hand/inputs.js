/** The inputs that are not matrices: the tokens of the prompt, a given next token, the temperature. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { msg } from "../shared/words/msg.js";

/** @param {{answer: Object, wrong: Object|null, actions: Object}} props */
export function Inputs({ answer, wrong, actions }) {
  const { words, prompt, given, temperature } = answer.example;
  const put = (at, id) => actions.put("prompt", prompt.map((each, place) => (place === at ? id : each)).join(","));
  return html`<div class="by-hand-inputs row muted">
    <span>${msg`Tokens`}</span>
    ${prompt.map((id, position) => html`<${Token} key=${position} label=${msg`Token ${position + 1}`} words=${words} id=${id} choose=${(next) => put(position, next)} />`)}
    ${
      given !== null &&
      html`<span>${msg`next:`}</span><${Token} label=${msg`Next token`} words=${words} id=${given} choose=${(next) => actions.put("given", next)} />`
    }
    ${answer.prefill.logits && html`<${Temperature} value=${temperature} wrong=${wrong?.cell === "temperature"} actions=${actions} />`}
  </div>`;
}

function Token({ label, words, id, choose }) {
  return html`<select aria-label=${label} value=${id} onChange=${(event) => choose(event.currentTarget.value)}>
    ${words.map((word, at) => html`<option key=${at} value=${at}>${word}</option>`)}
  </select>`;
}

function Temperature({ value, wrong, actions }) {
  const [draft, setDraft] = useState(null);
  const put = (event) => {
    setDraft(event.currentTarget.value);
    actions.put("temperature", event.currentTarget.value.trim().replace(",", ".") || " ");
  };
  return html`<label class="line">${msg`Temperature`}
    <input
      inputmode="decimal" autocomplete="off" aria-invalid=${wrong ? "true" : null} aria-describedby=${wrong ? "wrong" : null}
      value=${wrong ? draft : String(value)} onChange=${put} /></label>`;
}
