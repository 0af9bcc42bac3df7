/** The form of the calculator, as a sentence with fields: model, requests, tokens, GPUs, dtypes, shared prefix. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { DTYPES, withoutSeparators } from "../setup.js";

const CUSTOM = "";
const [LEAST_CHARACTERS, MOST_CHARACTERS] = [2, 14];
const PLAIN = /^\d{1,15}$/;

/** @param {{texts: Object, known: Object, modelName: string, problem: Object|null, actions: Object}} props */
export function Sentence({ texts, known, modelName, problem, actions }) {
  const field = (name, label) => ({ name, label, text: texts[name], problem, put: (text) => actions.put(name, text) });
  const models = known.models.map(({ id, name }) => ({ id, name }));
  const gpus = known.gpus.map(({ id, name }) => ({ id, name: name.replace("NVIDIA ", "") }));
  const isPrefixUseless = withoutSeparators(texts.requests) === "1" && withoutSeparators(texts.prefix) !== "0";
  const own = texts.config ? [{ id: CUSTOM, name: modelName }] : [];
  const model = html`<${Choice} ...${field("model", msg`Model`)} text=${texts.config ? CUSTOM : texts.model} options=${[...own, ...models]} put=${actions.chooseModel} />`;
  const requests = html`<${Whole} ...${field("requests", msg`Requests at once`)} />`;
  const tokens = html`<${Whole} ...${field("context", msg`Tokens each`)} />`;
  const count = html`<${Whole} ...${field("gpus", msg`Number of GPUs`)} />`;
  const gpu = html`<${Choice} ...${field("gpu", msg`GPU`)} options=${gpus} />`;
  const weights = html`<${Choice} ...${field("weights", msg`Weights dtype`)} options=${dtypes} />`;
  const cache = html`<${Choice} ...${field("cache", msg`Cache dtype`)} options=${dtypes} />`;
  const prefix = html`<${Whole} ...${field("prefix", msg`Shared prefix, tokens`)} />`;
  return html`<form class="sentence stack" aria-label=${msg`Inputs`} onSubmit=${(event) => event.preventDefault()}>
    <p class="sentence-main">${nodes`${model} answers ${requests} requests at once, ${tokens} tokens each, on ${count} ${gpu}`}</p>
    <p class="sentence-more muted">
      ${nodes`Weights (learned numbers) in ${weights}, cache in ${cache}. The first ${prefix} tokens of all requests are the same and stored once.`}
      ${isPrefixUseless && ` ${msg`A single request saves nothing.`}`}
    </p>
    ${problem && html`<p class="own-wrong word-bad breaks" id="own-wrong" role="alert">${problem.text} ${msg`The results below are for the previous inputs.`}</p>`}
  </form>`;
}

const dtypes = DTYPES.map((id) => {
  const [dtype, group] = id.split("-");
  return { id, name: group ? msg`${dtype}, one scale factor per ${group} numbers` : dtype };
});

function fault(name, problem) {
  return problem?.field === name ? { "aria-invalid": "true", "aria-describedby": "own-wrong" } : {};
}

/** A field for a whole number, with commas in thousands. Typed text keeps its form until the field loses focus. */
function Whole({ name, label, text, problem, put }) {
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

function Choice({ name, label, text, options, problem, put }) {
  return html`<select aria-label=${label} value=${text} ...${fault(name, problem)} onChange=${(event) => put(event.currentTarget.value)}>
    ${!options.some(({ id }) => id === text) && html`<option value=${text} disabled>${msg`choose…`}</option>`}
    ${options.map((each) => html`<option key=${each.id} value=${each.id}>${each.name}</option>`)}
  </select>`;
}
