/** The controls of experiments with the cache: start, progress and stop, and why the button is disabled. */

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
 * A button that starts an experiment.
 *
 * @param {{label: preact.ComponentChildren, isMain?: boolean, busy?: boolean, why?: string|null, note?: string|null,
 *   problem?: string|null, onStart: () => void}} props `why`: the reason that disables it; `note`: shown beside it otherwise
 */
export function Start({ label, isMain = true, busy = false, why = null, note = null, problem = null, onStart }) {
  return html`<p class="twin-control row small" role="status">
    <button type="button" class=${`button small ${isMain ? "is-main" : ""}`} disabled=${busy || why !== null} onClick=${onStart}>${label}</button>
    ${(why ?? note) && html`<span>${why ?? note}</span>`}
    ${problem && html`<span class="word-bad" role="alert">${problem}</span>`}
  </p>`;
}

/** How far an experiment is, and a button that stops it. `name`: of the progress. */
export function Progress({ name, done, total, onStop, children }) {
  return html`<p class="twin-control row small" role="status">
    <button class="button small" type="button" onClick=${onStop}>${msg`Stop`}</button>
    <progress max=${total} value=${done} aria-label=${name}></progress>
    ${children}
  </p>`;
}

/**
 * Runs the same prompt again with another setting of the cache.
 *
 * @param {{twin: Object, run: Object, ready: boolean, label: string, again: string}} props `twin`: of `useTwin`;
 *   `ready`: the model is loaded; `label`: what the button does; `again`: the same once it was done
 */
export function TwinControl({ twin, run, ready, label, again }) {
  const { log, starting, problem, start, stop } = twin;
  const total = run.steps.length;
  if (log && !log.close)
    return html`<${Progress} name=${msg`Progress of the second run`} done=${log.steps.length} total=${total} onStop=${stop}>
      ${msg`Steps done: ${log.steps.length} of ${total}`}
    <//>`;
  if (run.saved) return html`<p class="twin-control row small"><b>${label}</b> ${NO_STUDY}</p>`;
  const incomplete = log?.close ? (INCOMPLETE[log.close.reason] ?? null) : null;
  const whole = log?.close && !incomplete;
  return html`<${Start}
    label=${starting ? msg`Starting…` : whole ? again : label} isMain=${!whole} busy=${starting} why=${whyDisabled(run, ready)}
    note=${incomplete} problem=${problem?.message} onStart=${start}
  />`;
}

/** @returns {string|null} why no experiment can start for a run; null: it can */
export function whyDisabled(run, ready) {
  if (!run.close) return msg`Available when the run has ended.`;
  return ready ? null : NEEDS_MODEL;
}
