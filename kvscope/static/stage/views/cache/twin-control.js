/** The button that runs the same prompt with another setting of the cache, its progress, and why it is disabled. */

import { html } from "htm/preact";
import { NO_STUDY } from "../../../shared/facts/saved-session.js";
import { msg } from "../../../shared/words/msg.js";

export const NEEDS_MODEL = msg`Available when the model is loaded.`;

const INCOMPLETE = {
  stopped: msg`The run was stopped before its end.`,
  failed: msg`The run failed.`,
  interrupted: msg`The run was interrupted.`,
};

/**
 * @param {{twin: Object, run: Object, ready: boolean, label: string, again: string}} props `twin`: of `useTwin`;
 *   `ready`: the model is loaded; `label`: what the button does; `again`: the same once it was done
 */
export function TwinControl({ twin, run, ready, label, again }) {
  const { log, starting, problem, start, stop } = twin;
  const total = run.steps.length;
  if (log && !log.close)
    return html`<p class="twin-control row small" role="status">
      <button class="button small" type="button" onClick=${stop}>${msg`Stop`}</button>
      <progress max=${total} value=${log.steps.length} aria-label=${msg`Progress of the second run`}></progress>
      ${msg`Steps done: ${log.steps.length} of ${total}`}
    </p>`;
  if (run.saved) return html`<p class="twin-control row small"><b>${label}</b> ${NO_STUDY}</p>`;
  const incomplete = log?.close && INCOMPLETE[log.close.reason];
  const whole = log?.close && !incomplete;
  const why = whyDisabled(run, ready);
  return html`<p class="twin-control row small">
    <button type="button" class=${`button small ${whole ? "" : "is-main"}`} disabled=${starting || why !== null} onClick=${start}>
      ${starting ? msg`Starting…` : whole ? again : label}
    </button>
    ${why && html`<span>${why}</span>`}
    ${!why && incomplete && html`<span>${incomplete}</span>`}
    ${problem && html`<span class="word-bad" role="alert">${problem.message}</span>`}
  </p>`;
}

function whyDisabled(run, ready) {
  if (!run.close) return msg`Available when the run has ended.`;
  return ready ? null : NEEDS_MODEL;
}
