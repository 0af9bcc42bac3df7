/** The line above a changed run's answer: its changes, and buttons to its original and to the list of changes. */

import { html } from "htm/preact";
import { changeInWords, changeRefusal, eachChangeInWords, MOST_NAMED } from "../../shared/facts/changes.js";
import { useNarrow } from "../../shared/ui/use-narrow.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { canAsk } from "../state/run-request.js";

export function ChangedLine({ state, dispatch, controller }) {
  const narrow = useNarrow();
  const { run } = state;
  const changes = run?.open?.changed?.changes;
  if (!changes) return null;
  const name = msg`Changes of this run`;
  const named = nodes`${html`<b>${msg`Changed:`}</b>`} ${eachChangeInWords(changes, run.tokens)}.`;
  const list = html`<ol>${changes.map((change, at) => html`<li key=${at}>${changeInWords(change, run.tokens)}</li>`)}</ol>`;
  const ways = html`<${Ways} state=${state} dispatch=${dispatch} controller=${controller} />`;
  // On a phone, one line leaves room for the picture.
  if (narrow)
    return html`<details class="changed-line whole small" aria-label=${name}>
      <summary class="cut">${named}</summary>
      ${list}
      <div class="row on-line">${ways}</div>
    </details>`;
  return html`<div class="changed-line whole row on-line small" role="group" aria-label=${name}>
    ${changes.length <= MOST_NAMED ? html`<span>${named}</span>` : html`<details><summary>${named}</summary>${list}</details>`}
    ${ways}
  </div>`;
}

function Ways({ state, dispatch, controller }) {
  const { run, step, original, readiness } = state;
  const edits = canAsk(state) && !changeRefusal(run, readiness.model);
  const { of } = run.open.changed;
  return html`
    ${
      !run.saved &&
      (original?.problem
        ? html`<span class="muted">${original.problem.status === 404 ? msg`The original run is no longer stored.` : msg`The original run could not be loaded.`}</span>`
        : html`<button class="button small nowrap" type="button" onClick=${() => controller.visitRelative(of, step)}>${msg`Back to the original`}</button>`)
    }
    ${edits && html`<button class="button small nowrap" type="button" onClick=${() => dispatch({ type: "changing" })}>${msg`Edit the changes`}</button>`}
  `;
}
