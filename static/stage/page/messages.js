/** What went wrong, what is being waited for, and what to do about it. */

import { html } from "htm/preact";
import { ending } from "../../shared/facts/endings.js";
import { counted } from "../../shared/facts/format.js";

export function Messages({ state, dispatch, client }) {
  const { problem, held, waits, connected, readiness, run, embed } = state;
  // Nobody can do anything about the model from inside another page, and what is shown there needs none.
  const failed = readiness.state === "failed" && !embed;
  return html`
    <div class="messages">
      ${failed && !problem && html`<${ModelFailed} message=${readiness.message} />`}
      ${held && html`<${Held} onCancel=${() => dispatch({ type: "hold", held: false })} />`}
      ${waits && html`<${InLine} waits=${waits} onCancel=${() => client.remove(waits.id)} />`}
      ${!connected && !ending(run?.close) && html`<${Lost} />`}
      ${problem && html`<${ProblemMessage} problem=${problem} onDismiss=${() => dispatch({ type: "problem", problem: null })} />`}
    </div>
  `;
}

function ModelFailed({ message }) {
  return html`
    <p class="message line on-line" data-tone="bad" role="alert">
      <strong>The model could not be loaded.</strong> <span>${message} Recorded runs still play.</span>
    </p>
  `;
}

function Held({ onCancel }) {
  return html`
    <p class="message line on-line" role="status">
      <span>Your prompt will start as soon as the model is ready.</span>
      <button class="button push" type="button" onClick=${onCancel}>Cancel</button>
    </p>
  `;
}

function InLine({ waits, onCancel }) {
  const { place, estimate_s } = waits;
  const when = estimate_s === null ? "" : ` It begins in about ${counted(estimate_s, "second")} (estimated).`;
  const where = place === 1 ? "is next in line" : `stands in line, at place ${place}`;
  return html`
    <p class="message line on-line" role="status" id="in-line">
      <span>The server is busy: your run ${where}.${when}</span>
      <button class="button push" type="button" onClick=${onCancel}>Cancel</button>
    </p>
  `;
}

function Lost() {
  return html`
    <p class="message line on-line" role="status">
      <span>The connection is lost; trying again. Whatever the run adds meanwhile will be fetched.</span>
    </p>
  `;
}

function ProblemMessage({ problem, onDismiss }) {
  const { title, detail, field, limit, retryAfter } = problem;
  const bound =
    limit === null || limit === undefined ? "" : `limit ${Array.isArray(limit) ? limit.join(" to ") : limit}`;
  const named = [field, bound].filter(Boolean).join(", ");
  return html`
    <p class="message line on-line" data-tone="bad" role="alert" id="problem">
      <strong>${title}.</strong>
      <span>
        ${detail}${named && ` (${named})`}${retryAfter ? ` Try again in ${retryAfter} s.` : ""}
      </span>
      <button class="button push" type="button" onClick=${onDismiss}>Dismiss</button>
    </p>
  `;
}
