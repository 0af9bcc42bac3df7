/** What is changed in the shown run, above its answer, with the ways to its original and to other changes. */

import { html } from "htm/preact";
import { changeInWords, changeRefusal, eachChangeInWords, MOST_NAMED } from "../../shared/facts/changes.js";
import { canAsk } from "../../shared/state/asking.js";
import { msg, nodes } from "../../shared/words/msg.js";

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

/** More changes than are named are listed on demand. */
function Changes({ changes, tokens }) {
  const named = nodes`${html`<b>${msg`Changed:`}</b>`} ${eachChangeInWords(changes, tokens)}.`;
  if (changes.length <= MOST_NAMED) return html`<span>${named}</span>`;
  return html`<details class="changed-list">
    <summary>${named}</summary>
    <ol>${changes.map((change) => changeInWords(change, tokens)).map((text) => html`<li key=${text}>${text}</li>`)}</ol>
  </details>`;
}
