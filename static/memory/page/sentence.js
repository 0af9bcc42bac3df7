/** All that is asked, as a sentence: who answers how many people, how much text each, on what. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { DTYPES, withoutBetween } from "../asked.js";

const CUSTOM = "";
/** Of a field, in characters. */
const [NARROWEST, WIDEST] = [2, 14];
const PLAIN = /^\d{1,15}$/;

/** @param {{texts: Object, known: Object, modelName: string, problem: Object|null, actions: Object}} props */
export function Sentence({ texts, known, modelName, problem, actions }) {
  const field = (name, label) => ({ name, label, text: texts[name], problem, put: (text) => actions.put(name, text) });
  const models = known.models.map(({ id, name }) => ({ id, name }));
  const gpus = known.gpus.map(({ id, name }) => ({ id, name: name.replace("NVIDIA ", "") }));
  /** Nobody to share it with: it changes no figure. */
  const alone = withoutBetween(texts.requests) === "1" && withoutBetween(texts.prefix) !== "0";
  const own = texts.config ? [{ id: CUSTOM, name: modelName }] : [];
  return html`<form class="sentence stack" aria-label="What is asked" onSubmit=${(event) => event.preventDefault()}>
    <p class="sentence-main">
      <${Choice} ...${field("model", "Model")} text=${texts.config ? CUSTOM : texts.model} options=${[...own, ...models]} put=${actions.chooseModel} />
      ${" answers "}<${Whole} ...${field("requests", "People at once")} />${" people at once, "}
      <${Whole} ...${field("context", "Tokens each")} />${" tokens each, on "}
      <${Whole} ...${field("gpus", "Number of GPUs")} />${" "}
      <${Choice} ...${field("gpu", "GPU")} options=${gpus} />
    </p>
    <p class="sentence-more muted">
      ${"weights in "}<${Choice} ...${field("weights", "Weights dtype")} options=${dtypes} />
      ${" · cache in "}<${Choice} ...${field("cache", "Cache dtype")} options=${dtypes} />
      ${" · the first "}<${Whole} ...${field("prefix", "Shared prefix, tokens")} />${" tokens are the same for all, and stored once"}
      ${alone && " (which saves nothing for one person)"}
    </p>
    ${problem && html`<p class="own-wrong word-bad breaks" id="own-wrong" role="alert">${problem.text} Below is what there was before.</p>`}
  </form>`;
}

const dtypes = DTYPES.map((id) => ({ id, name: id.replace("-", ", a scale per ") }));

function fault(name, problem) {
  return problem?.field === name ? { "aria-invalid": "true", "aria-describedby": "own-wrong" } : {};
}

/** A whole number, its thousands apart. What is typed stays as it is until the field is left. */
function Whole({ name, label, text, problem, put }) {
  const [draft, setDraft] = useState(null);
  const type = (typed) => {
    setDraft(typed);
    const digits = withoutBetween(typed);
    put(PLAIN.test(digits) ? digits : typed);
  };
  const step = (event) => {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || !PLAIN.test(text)) return;
    event.preventDefault();
    setDraft(null);
    put(String(Math.max(0, Number(text) + up)));
  };
  const digits = withoutBetween(text);
  const shown = draft ?? (PLAIN.test(digits) ? integer(Number(digits)) : text);
  const characters = Math.min(WIDEST, Math.max(NARROWEST, shown.length));
  return html`<input
    type="text" inputmode="numeric" autocomplete="off" spellcheck=${false} aria-label=${label} value=${shown}
    style=${{ width: `calc(${characters}ch + 20px)` }} ...${fault(name, problem)} onBlur=${() => setDraft(null)}
    onInput=${(event) => type(event.currentTarget.value)} onKeyDown=${step} />`;
}

function Choice({ name, label, text, options, problem, put }) {
  return html`<select aria-label=${label} value=${text} ...${fault(name, problem)} onChange=${(event) => put(event.currentTarget.value)}>
    ${!options.some(({ id }) => id === text) && html`<option value=${text} disabled>choose…</option>`}
    ${options.map((each) => html`<option key=${each.id} value=${each.id}>${each.name}</option>`)}
  </select>`;
}
