/** What is asked, as a sentence whose words can be changed; ready-made ones; and the requests themselves. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { counted } from "../../shared/facts/format.js";
import { boundsOf, PRESETS, typedIn } from "../asked.js";
import { SETTINGS } from "../settings.js";
import { fault } from "./ask-fault.js";
import { RequestList } from "./request-list.js";

const LENGTHS = [
  { id: "short", name: "short" },
  { id: "mixed", name: "short and longer" },
  { id: "long", name: "short, one long in between" },
];
/** Not to be chosen: it is so once somebody has typed one. */
const OWN = { id: "own", name: "as they stand below" };

/** There all that can be set would fill the screen: it is folded. */
const NARROW = "(max-width: 719px)";

function useNarrow() {
  const [narrow, setNarrow] = useState(() => window.matchMedia(NARROW).matches);
  useEffect(() => {
    const query = window.matchMedia(NARROW);
    const changed = () => setNarrow(query.matches);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, []);
  return narrow;
}

/** @param {{state: Object, limits: import("../../shared/log/limits.js").Limits, live: boolean}} props */
export function Ask({ state, limits, live }) {
  const { asked, problem, actions, mine, starting } = state;
  const narrow = useNarrow();
  const whole = (field, label) =>
    html`<${Whole} field=${field} label=${label} text=${typedIn(asked, field)} bounds=${boundsOf(field, limits)} problem=${problem} put=${actions.put} />`;
  const submit = (event) => {
    event.preventDefault();
    actions.run();
  };
  const buttons = html`<span class="ask-buttons line push">
    <button class="button is-main" disabled=${starting}>${state.run ? "Run again" : "Run"}</button>
    ${live && mine && html`<button type="button" class="button" onClick=${actions.stop}>Stop</button>`}
  </span>`;
  const fields = html`
    <p class="ask-sentence row">
      <span>${whole("people", "People")} people ask,</span>
      <span>about every ${whole("every", "Milliseconds between two")} ms,</span>
      <span>prompts <${Lengths} value=${asked.lengths} put=${actions.put} />,</span>
      <label class="line tight"><input type="checkbox" checked=${asked.sameSystem} onChange=${(event) => actions.put("sameSystem", event.currentTarget.checked)} /> same system prompt,</label>
      ${SETTINGS.map(({ field, label, words: [before, after] }) => html`<span key=${field}>${before}${whole(field, label)}${after}</span>`)}
      ${!narrow && buttons}
    </p>
    <div class="ask-more row on-line">
      <p class="row" role="group" aria-label="Ready-made">
        ${PRESETS.map((preset) => html`<button key=${preset.id} type="button" class="link-button" onClick=${() => actions.take(preset)}>${preset.name}</button>`)}
      </p>
      <${RequestList} state=${state} />
    </div>`;
  return html`<form class=${narrow ? "ask stack tight is-folded" : "ask stack tight"} aria-label="What is asked" onSubmit=${submit}>
    ${narrow ? html`<${Folded} people=${asked.requests.length} wrong=${Boolean(problem?.field)}>${fields}<//>${buttons}` : fields}
    ${problem && html`<p class="own-wrong word-bad breaks" id="serving-wrong" role="alert">${capitalised(problem.text)}</p>`}
  </form>`;
}

/** @param {{people: number, wrong: boolean, children: Object}} props `wrong`: whether a field in it is, which is to be seen then */
function Folded({ people, wrong, children }) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (wrong) setOpen(true);
  }, [wrong]);
  return html`<details class="ask-fold" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${counted(people, "person asks", "people ask")}: see and change what</summary>
    ${children}
  </details>`;
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
