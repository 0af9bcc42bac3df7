/** The requests themselves, folded away: who asks what and when, and who gives up. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { counted } from "../../shared/facts/format.js";
import { letterOf } from "../owners.js";
import { fault } from "./ask-fault.js";
import { Owner } from "./owner.js";

/** @param {{state: Object}} props */
export function RequestList({ state }) {
  const { asked, problem, actions } = state;
  const [open, setOpen] = useState(false);
  const inside = problem?.field === "system" || problem?.field.startsWith("requests.");
  useEffect(() => {
    if (inside) setOpen(true);
  }, [inside]);
  return html`<details class="requests" open=${open} onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>The ${counted(asked.requests.length, "prompt")}, to read and change</summary>
    ${open && html`<${Rows} asked=${asked} problem=${problem} actions=${actions} />`}
  </details>`;
}

function Rows({ asked, problem, actions }) {
  return html`
    <label class="requests-system stack tight muted">
      <span>The system prompt, before each of them${asked.sameSystem ? "" : " (not used now)"}</span>
      <textarea rows="3" value=${asked.system} ...${fault("system", problem)}
        onInput=${(event) => actions.put("system", event.currentTarget.value)}></textarea>
    </label>
    <ol class="request-rows grid">
      ${asked.requests.map((request, at) => html`<${Row} key=${at} request=${request} at=${at} asked=${asked} problem=${problem} put=${actions.putRequest} />`)}
    </ol>
  `;
}

function Row({ request, at, asked, problem, put }) {
  const letter = letterOf(at);
  const field = (name, label, unit) => html`<label class="line tight">
    <span>${label}</span>
    <span class="request-number"><input type="text" inputmode="numeric" autocomplete="off" aria-label=${`${letter}: ${label}, ${unit}`} value=${request[name]}
      ...${fault(`requests.${at}.${name}`, problem)} onInput=${(event) => put(at, name, event.currentTarget.value)} /> ${unit}</span>
  </label>`;
  const given = asked.requests.flatMap(({ cancel }, place) => (cancel.trim() && place < at ? [place] : []));
  return html`<li class="request-row">
    <${Owner} request=${at} />
    <textarea rows="2" aria-label=${`${letter}’s prompt`} value=${request.prompt} ...${fault(`requests.${at}.prompt`, problem)}
      onInput=${(event) => put(at, "prompt", event.currentTarget.value)}></textarea>
    <div class="request-fields row muted small">
      ${field("newTokens", "answer", "tokens")} ${field("arrives", "asks at", "ms")} ${field("cancel", "gives up at", "ms")}
      <label class="line tight"><span>asks again</span><select aria-label=${`${letter} asks again what was given up by`} value=${request.retry} ...${fault(`requests.${at}.retry`, problem)}
        onChange=${(event) => put(at, "retry", event.currentTarget.value)}>
        <option value="">nobody</option>
        ${given.map((place) => html`<option key=${place} value=${String(place)}>${letterOf(place)}</option>`)}
      </select></label>
    </div>
  </li>`;
}
