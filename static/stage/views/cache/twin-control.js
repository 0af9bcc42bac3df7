/** The button that starts a twin, how far it is, and why it cannot be started. */

import { html } from "htm/preact";
import { counted } from "../../../shared/facts/format.js";
import { NO_STUDY } from "../../../shared/facts/saved-session.js";

const BROKEN_OFF = {
  stopped: "It was stopped before its end.",
  failed: "It failed.",
  interrupted: "It was interrupted.",
};

/**
 * @param {{twin: Object, run: Object, ready: boolean, children: string}} props `twin`: of `useTwin`;
 *   `ready`: the model is there; `children`: what the button does
 */
export function TwinControl({ twin, run, ready, children }) {
  const { log, starting, problem, start, stop } = twin;
  const total = run.steps.length;
  if (log && !log.close)
    return html`<p class="twin-control row small" role="status">
      <button class="button small" type="button" onClick=${stop}>Stop</button>
      <progress max=${total} value=${log.steps.length} aria-label="Steps of the twin"></progress>
      running: ${log.steps.length} of ${counted(total, "step")}
    </p>`;
  if (run.saved) return html`<p class="twin-control row small"><b>${children}</b> ${NO_STUDY}</p>`;
  const whole = log?.close && !BROKEN_OFF[log.close.reason];
  const why = reasonNot(run, ready);
  return html`<p class="twin-control row small">
    <button type="button" class=${`button small ${whole ? "" : "is-main"}`} disabled=${starting || why !== null} onClick=${start}>
      ${starting ? "Starting…" : whole ? `${children} again` : children}
    </button>
    ${why && html`<span>${why}</span>`}
    ${!why && log?.close && BROKEN_OFF[log.close.reason] && html`<span>${BROKEN_OFF[log.close.reason]}</span>`}
    ${problem && html`<span class="word-bad" role="alert">${problem.message}</span>`}
  </p>`;
}

function reasonNot(run, ready) {
  if (!run.close) return "Possible when the run has ended.";
  return ready ? null : "Possible when the model is loaded.";
}
