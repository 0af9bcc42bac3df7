/** Controls of a measurement: the button that starts it, its progress, a button that stops it, and what went wrong. */

import { html } from "htm/preact";
import { integer, milliseconds } from "../../../shared/facts/format.js";
import { modelFor, NO_STUDY } from "../../../shared/facts/saved-session.js";
import { Badge } from "../../../shared/ui/badge.js";
import { msg } from "../../../shared/words/msg.js";

/** @param {{measurement: Object, label: string, name: string, run: Object, readiness: Object}} props `measurement` from `useEffects`; `name`: of the progress */
export function Measured({ measurement, label, name, run, readiness }) {
  const { status, effects, count, ms, problem, start, stop } = measurement;
  const model = modelFor(run, readiness);
  if (status === "done") {
    return html`<p class="effect-state muted small" role="status">
      ${msg`${count} variants of this step, computed in ${milliseconds(ms)}`} <${Badge} origin="measured" />
    </p>`;
  }
  if (model === "none") return html`<p class="effect-state muted" role="status">${NO_STUDY}</p>`;
  const msLeft = effects.length ? (ms / effects.length) * (count - effects.length) : null;
  return html`<div class="effect-state row on-line">
    ${
      status === "running"
        ? html`<button type="button" class="button" onClick=${stop}>${msg`Stop`}</button>`
        : html`<button type="button" class="button is-main" aria-disabled=${model !== "ready"} onClick=${() => model === "ready" && start()}>
            ${status === "stopped" ? msg`Go on` : status === "failed" ? msg`Try again` : label}
          </button>`
    }
    ${count > 0 && html`<progress max=${count} value=${effects.length} aria-label=${name}></progress>`}
    <span role="status" class="muted small">${note(status, model, effects.length, count, msLeft, problem)}</span>
  </div>`;
}

function note(status, model, done, count, msLeft, problem) {
  if (status === "failed") return problem.detail || problem.title || msg`The server does not respond.`;
  if (model !== "ready") return msg`This needs the model, which is not ready.`;
  if (status === "stopped") return msg`Stopped after ${done} of ${count}.`;
  if (status === "running" && msLeft !== null)
    return msg`${done} of ${count}, about ${integer(Math.ceil(msLeft / 1000))} s left (estimated)`;
  return "";
}
