/** The requests, folded: prompt, longest answer, arrival, cancellation and retry of each. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { form, msg, plural } from "../../shared/words/msg.js";
import { letterOf } from "../owners.js";
import { isCancelled } from "../workload-form.js";
import { errorProps } from "./field-error.js";
import { Owner } from "./owner.js";

/** @param {{state: Object}} props */
export function RequestList({ state }) {
  const { fields, problem, actions } = state;
  const [open, setOpen] = useState(false);
  const count = fields.requests.length;
  const inside = problem?.field === "system" || problem?.field.startsWith("requests.");
  useEffect(() => {
    if (inside) setOpen(true);
  }, [inside]);
  return html`<details class="requests" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>${plural(count, form`Edit the ${count} prompt`, form`Edit the ${count} prompts`)}</summary>
    ${open && html`<${Rows} fields=${fields} problem=${problem} actions=${actions} />`}
  </details>`;
}

function Rows({ fields, problem, actions }) {
  return html`
    <label class="requests-system stack tight muted">
      <span>${fields.sameSystem ? msg`The system prompt, before each prompt` : msg`The system prompt (not used now)`}</span>
      <textarea rows="3" value=${fields.system} ...${errorProps("system", problem)}
        onInput=${(event) => actions.put("system", event.currentTarget.value)}></textarea>
    </label>
    <ol class="request-rows grid">
      ${fields.requests.map((request, at) => html`<${Row} key=${at} request=${request} at=${at} fields=${fields} problem=${problem} put=${actions.putRequest} />`)}
    </ol>
  `;
}

function Row({ request, at, fields, problem, put }) {
  const letter = letterOf(at);
  const field = (name, label, unit) => html`<label class="line tight">
    <span>${label}</span>
    <span class="request-number"><input type="text" inputmode="numeric" autocomplete="off" aria-label=${msg`${letter}: ${label}, ${unit}`} value=${request[name]}
      ...${errorProps(`requests.${at}.${name}`, problem)} onInput=${(event) => put(at, name, event.currentTarget.value)} /> ${unit}</span>
  </label>`;
  const cancelled = fields.requests.flatMap((each, place) => (isCancelled(each) && place < at ? [place] : []));
  return html`<li class="request-row">
    <${Owner} request=${at} />
    <textarea rows="2" aria-label=${msg`${letter}’s prompt`} value=${request.prompt} ...${errorProps(`requests.${at}.prompt`, problem)}
      onInput=${(event) => put(at, "prompt", event.currentTarget.value)}></textarea>
    <div class="request-fields row muted small">
      ${field("newTokens", msg`answer at most`, msg`tokens`)} ${field("arrives", msg`arrives at`, "ms")} ${field("cancel", msg`cancelled at`, "ms")} ${field("cancelTokens", msg`or after`, msg`tokens`)}
      <label class="line tight"><span>${msg`retry of`}</span><select aria-label=${msg`${letter} is a retry of`} value=${request.retry} ...${errorProps(`requests.${at}.retry`, problem)}
        onChange=${(event) => put(at, "retry", event.currentTarget.value)}>
        <option value="">${msg`none`}</option>
        ${cancelled.map((place) => html`<option key=${place} value=${String(place)}>${letterOf(place)}</option>`)}
      </select></label>
    </div>
  </li>`;
}
