/** What is asked, as a sentence whose words can be changed; ready-made ones; and the requests themselves. */

import { html } from "htm/preact";
import { boundsOf, PRESETS } from "../asked.js";
import { fault } from "./ask-fault.js";
import { RequestList } from "./request-list.js";

const LENGTHS = [
  { id: "short", name: "short" },
  { id: "mixed", name: "short and longer" },
  { id: "long", name: "short, one long in between" },
];
/** Not to be chosen: it is so once somebody has typed one. */
const OWN = { id: "own", name: "as they stand below" };

/** @param {{state: Object, limits: import("../asked.js").Limits, live: boolean}} props */
export function Ask({ state, limits, live }) {
  const { asked, problem, actions, mine, starting } = state;
  const whole = (field, label) =>
    html`<${Whole} field=${field} label=${label} text=${asked[field]} bounds=${boundsOf(field, limits)} problem=${problem} put=${actions.put} />`;
  const submit = (event) => {
    event.preventDefault();
    actions.run();
  };
  return html`<form class="ask" aria-label="What is asked" onSubmit=${submit}>
    <p class="ask-sentence">
      <span>${whole("people", "People")} people ask,</span>
      <span>about every ${whole("every", "Milliseconds between two")} ms,</span>
      <span>prompts <${Lengths} value=${asked.lengths} put=${actions.put} />,</span>
      <label class="ask-check"><input type="checkbox" checked=${asked.sameSystem} onChange=${(event) => actions.put("sameSystem", event.currentTarget.checked)} /> same system prompt,</label>
      <span>at most ${whole("atOnce", "Answered at once")} at once,</span>
      <span>${whole("chunk", "Tokens of a prompt per pass")} tokens of a prompt a pass,</span>
      <span>at most ${whole("blocks", "Blocks of memory")} blocks</span>
      <span class="ask-buttons">
        <button class="strong-button" disabled=${starting}>${state.run ? "Run again" : "Run"}</button>
        ${live && mine && html`<button type="button" class="plain-button" onClick=${actions.stop}>Stop</button>`}
      </span>
    </p>
    ${problem && html`<p class="own-wrong" id="serving-wrong" role="alert">${capitalised(problem.text)}</p>`}
    <div class="ask-more">
      <p class="ask-presets" role="group" aria-label="Ready-made">
        ${PRESETS.map((preset) => html`<button key=${preset.id} type="button" class="link-button" onClick=${() => actions.take(preset)}>${preset.name}</button>`)}
      </p>
      <${RequestList} state=${state} />
    </div>
  </form>`;
}

function capitalised(text) {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** A whole number. The arrow keys change it; what cannot be used stays, and is told. */
function Whole({ field, label, text, bounds: { least, most }, problem, put }) {
  const step = (event) => {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || !/^\d+$/.test(text)) return;
    event.preventDefault();
    put(field, String(Math.min(most, Math.max(least, Number(text) + up))));
  };
  return html`<input
    type="text" inputmode="numeric" autocomplete="off" spellcheck=${false} aria-label=${label} title=${`${least} to ${most}`}
    value=${text} style=${{ width: `calc(${Math.max(2, text.length)}ch + 18px)` }} ...${fault(field, problem)}
    onInput=${(event) => put(field, event.currentTarget.value)} onKeyDown=${step} />`;
}

function Lengths({ value, put }) {
  return html`<select aria-label="Prompts" value=${value} onChange=${(event) => put("lengths", event.currentTarget.value)}>
    ${[...LENGTHS, ...(value === OWN.id ? [OWN] : [])].map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
  </select>`;
}
