/** What is changed in the shown run, above its answer, with the ways to its original and to other changes. */

import { html } from "htm/preact";
import { changeInWords, changeRefusal } from "../../shared/facts/changes.js";
import { canAsk } from "../../shared/state/asking.js";
import { msg, nodes } from "../../shared/words/msg.js";

/** More changes than these are shown on demand. */
const MOST_SHOWN = 3;

export function ChangedLine({ state, dispatch, controller }) {
  const { run, step, original, readiness } = state;
  const changes = run?.open?.changed?.changes;
  if (!changes) return null;
  const edits = canAsk(state) && !changeRefusal(run, readiness.model);
  const { of } = run.open.changed;
  return html`<div class="changed-line whole row on-line small" role="group" aria-label=${msg`Changes of this run`}>
    <${Changes} changes=${changes} tokens=${run.tokens} />
    ${
      !run.saved &&
      (original?.problem
        ? html`<span class="muted">${original.problem.status === 404 ? msg`The original run is no longer stored.` : msg`The original run could not be loaded.`}</span>`
        : html`<button class="button small nowrap" type="button" onClick=${() => controller.visitRelative(of, step)}>${msg`Back to the original`}</button>`)
    }
    ${edits && html`<button class="button small nowrap" type="button" onClick=${() => dispatch({ type: "changing" })}>${msg`Edit the changes`}</button>`}
  </div>`;
}

function Changes({ changes, tokens }) {
  const words = changes.map((change) => changeInWords(change, tokens));
  const label = html`<b>${msg`Changed:`}</b>`;
  if (words.length <= MOST_SHOWN) return html`<span>${nodes`${label} ${words.join("; ")}.`}</span>`;
  return html`<details class="changed-list">
    <summary>${nodes`${label} ${words.length} places in the model.`}</summary>
    <ol>${words.map((text) => html`<li key=${text}>${text}</li>`)}</ol>
  </details>`;
}
