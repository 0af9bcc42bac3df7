/** The form of a workload: its numbers in one line, presets, and the requests. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { Form } from "../../shared/ui/form.js";
import { useNarrow } from "../../shared/ui/use-narrow.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { DRAFT_NUMBERS, draftNumbers, SETTINGS } from "../settings.js";
import { boundsOf, PRESETS, typedIn } from "../workload-form.js";
import { errorProps } from "./field-error.js";
import { RequestList } from "./request-list.js";
import { SettingsInVllm } from "./settings-in-vllm.js";

const LENGTHS = [
  { id: "short", name: msg`short` },
  { id: "mixed", name: msg`short and longer` },
  { id: "long", name: msg`short, with one long` },
];
/** Offered only once a prompt has been edited. */
const OWN = { id: "own", name: msg`edited` };

/** @param {{state: Object, limits: import("../../shared/log/limits.js").Limits, live: boolean}} props */
export function WorkloadForm({ state, limits, live }) {
  const { fields, problem, actions, mine, starting } = state;
  // On a phone the form would fill the screen, so it is folded.
  const narrow = useNarrow();
  const whole = (field, label) =>
    html`<${Whole} field=${field} label=${label} text=${typedIn(fields, field)} bounds=${boundsOf(field, limits)} problem=${problem} put=${actions.put} />`;
  const choice = (field, label, choices) =>
    html`<select aria-label=${label} value=${typedIn(fields, field)} ...${errorProps(field, problem)} onChange=${(event) => actions.put(field, event.currentTarget.value)}>
      ${choices.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
    </select>`;
  const requests = whole("count", msg`Requests`);
  const gap = whole("every", msg`Milliseconds between requests`);
  const prompts = html`<${Lengths} value=${fields.lengths} put=${actions.put} />`;
  const buttons = html`<span class="form-buttons line push">
    <button class="button is-main" disabled=${starting}>${state.run ? msg`Run again` : msg`Run`}</button>
    ${live && mine && html`<button type="button" class="button" onClick=${actions.stop}>${msg`Stop`}</button>`}
  </span>`;
  const inputs = html`
    <p class="form-sentence row">
      <span>${nodes`${requests} requests,`}</span>
      <span>${nodes`one about every ${gap} ms.`}</span>
      <span>${nodes`Prompts: ${prompts},`}</span>
      <label class="line tight"><input type="checkbox" checked=${fields.sameSystem} onChange=${(event) => actions.put("sameSystem", event.currentTarget.checked)} /> ${msg`with the same system prompt.`}</label>
      <${Memory} fields=${fields} put=${actions.put} reserved=${fields.contiguous && whole("reserved", msg`Tokens reserved for an answer`)} />
      ${SETTINGS.map(({ field, label, inForm, choices }) => html`<span key=${field}>${inForm(choices ? choice(field, label, choices) : whole(field, label))}</span>`)}
      <${DraftInputs} settings=${fields.settings} whole=${whole} put=${actions.put} />
      ${!narrow && buttons}
    </p>
    <div class="form-more row on-line">
      <p class="row" role="group" aria-label=${msg`Presets`}>
        ${PRESETS.map((preset) => html`<button key=${preset.id} type="button" class="link-button" onClick=${() => actions.take(preset)}>${preset.name}</button>`)}
      </p>
      <${RequestList} state=${state} />
      <${SettingsInVllm} />
    </div>`;
  return html`<${Form} class=${narrow ? "workload-form stack tight is-folded" : "workload-form stack tight"} aria-label=${msg`Workload`} onSubmit=${() => actions.run()}>
    ${narrow ? html`<${Folded} count=${fields.requests.length} wrong=${Boolean(problem?.field)}>${inputs}<//>${buttons}` : inputs}
    ${problem && !problem.experiment && html`<p class="own-wrong word-bad breaks" id="serving-wrong" role="alert">${problem.text}</p>`}
  <//>`;
}

/** @param {{count: number, wrong: boolean, children: Object}} props `wrong`: whether a field in it has a problem; then it opens */
function Folded({ count, wrong, children }) {
  const [open, setOpen] = useState(false);
  useEffect(() => {
    if (wrong) setOpen(true);
  }, [wrong]);
  return html`<details class="form-fold" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${plural(count, form`Edit the workload: ${count} request`, form`Edit the workload: ${count} requests`)}</summary>
    ${children}
  </details>`;
}

/** A whole number. The arrow keys change it; an invalid value stays, beside an error. */
function Whole({ field, label, text, bounds: { least, most }, problem, put }) {
  const step = (event) => {
    const up = { ArrowUp: 1, ArrowDown: -1 }[event.key];
    if (!up || !/^\d+$/.test(text)) return;
    event.preventDefault();
    put(field, String(Math.min(most, Math.max(least, Number(text) + up))));
  };
  return html`<input
    type="text" inputmode="numeric" autocomplete="off" spellcheck=${false} aria-label=${label} title=${msg`${least} to ${most}`}
    value=${text} style=${{ width: `calc(${Math.max(2, text.length)}ch + 18px)` }} ...${errorProps(field, problem)}
    onInput=${(event) => put(field, event.currentTarget.value)} onKeyDown=${step} />`;
}

const DRAFTS = [
  { id: "none", name: msg`none` },
  { id: "lookup", name: msg`prompt lookup` },
  { id: "layers", name: msg`first layers` },
];

/** What guesses the next tokens, and the numbers that go with it. */
function DraftInputs({ settings, whole, put }) {
  const by = html`<select aria-label=${msg`Draft`} title=${msg`What guesses the next tokens, for one pass to check`} value=${settings.draft_by} onChange=${(event) => put("draft_by", event.currentTarget.value)}>
    ${DRAFTS.map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
  </select>`;
  const numbers = DRAFT_NUMBERS.filter(({ field }) => draftNumbers(settings).includes(field));
  return html`<span>${nodes`Draft: ${by}`}</span>
    ${numbers.map(({ field, label, inForm }) => html`<span key=${field}>${inForm(whole(field, label))}</span>`)}`;
}

/** How a request gets its memory; `reserved`: the field for the tokens that it reserves. */
function Memory({ fields: { contiguous }, put, reserved }) {
  const select = html`<select aria-label=${msg`Memory of a request`} value=${contiguous ? "reserved" : "paged"} onChange=${(event) => put("contiguous", event.currentTarget.value === "reserved")}>
    <option value="paged">${msg`blocks as needed`}</option><option value="reserved">${msg`one reserved stretch`}</option>
  </select>`;
  return html`<span>${reserved ? nodes`Memory of a request: ${select} for ${reserved} answer tokens.` : nodes`Memory of a request: ${select}.`}</span>`;
}

function Lengths({ value, put }) {
  return html`<select aria-label=${msg`Prompts`} value=${value} onChange=${(event) => put("lengths", event.currentTarget.value)}>
    ${[...LENGTHS, ...(value === OWN.id ? [OWN] : [])].map(({ id, name }) => html`<option key=${id} value=${id}>${name}</option>`)}
  </select>`;
}
