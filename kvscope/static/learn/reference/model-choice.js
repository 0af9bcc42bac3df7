/** Chooses the model whose numbers a page shows. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";

/**
 * Chooses the running model, or another one by its sizes.
 *
 * @param {{choices: Object[], id: string, running: Object|null, put: (id: string) => void}} props `id`: "" for the running model
 */
export function ModelChoice({ choices, id, running, put }) {
  const isKnown = id === "" || choices.some((choice) => choice.id === id);
  return html`<div class="learn-field stack tight">
    <label for="model">${msg`Model`}</label>
    <select id="model" value=${isKnown ? id : ""} aria-invalid=${isKnown ? null : "true"} aria-describedby=${isKnown ? null : "model-wrong"} onChange=${(event) => put(event.currentTarget.value)}>
      <option value="">${running ? msg`${running.name}, which runs here` : msg`the model that runs here`}</option>
      ${choices.map((choice) => html`<option key=${choice.id} value=${choice.id}>${choice.name}</option>`)}
    </select>
    ${!isKnown && html`<p class="own-wrong word-bad breaks" id="model-wrong" role="alert">${msg`There is no “${id}” here. Choose a model from the list.`}</p>`}
  </div>`;
}
