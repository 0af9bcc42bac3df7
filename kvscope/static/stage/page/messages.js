/** Messages above the page: problems, waiting, and what the reader can do. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { ending } from "../../shared/facts/endings.js";
import { integer } from "../../shared/facts/format.js";
import { stepCount } from "../../shared/words/counts.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { unloadedModel } from "../facts/models.js";

export function Messages({ state, dispatch, client, controller }) {
  const { problem, held, waits, connected, readiness, run, embed } = state;
  // A page inside another one needs no model, and its reader cannot do anything about it.
  const unloaded = unloadedModel(state);
  const failed = readiness.state === "failed" && !embed;
  return html`
    <div class="messages">
      ${unloaded && html`<${Unloaded} model=${unloaded} onLoad=${() => controller.loadModel(unloaded.name)} />`}
      ${failed && !problem && html`<${ModelFailed} message=${readiness.message} />`}
      ${held && html`<${Held} onCancel=${() => dispatch({ type: "hold", held: false })} />`}
      ${waits && html`<${Queued} waits=${waits} onCancel=${() => client.remove(waits.id)} />`}
      ${!connected && !ending(run?.close) && html`<${Lost} />`}
      ${state.caughtUp > 0 && html`<${CaughtUp} steps=${state.caughtUp} dispatch=${dispatch} />`}
      ${problem && html`<${ProblemMessage} problem=${problem} onContinue=${problem.continues && controller.continueRun} onDismiss=${() => dispatch({ type: "problem", problem: null })} />`}
    </div>
  `;
}

function ModelFailed({ message }) {
  return html`
    <p class="message line on-line" data-tone="bad" role="alert">
      <strong>${msg`The model could not be loaded.`}</strong> <span>${message} ${msg`Recorded runs still play.`}</span>
    </p>
  `;
}

function Unloaded({ model: { name, refusal }, onLoad }) {
  return html`
    <p class="message line on-line" role="status">
      <span>${msg`${name}, which computed this run, is not loaded. Exact values, branches and repeated runs need it.`} ${refusal}</span>
      ${!refusal && html`<button class="button push" type="button" onClick=${onLoad}>${msg`Load the model`}</button>`}
    </p>
  `;
}

function Held({ onCancel }) {
  return html`
    <p class="message line on-line" role="status">
      <span>${msg`Your run starts as soon as the model is ready.`}</span>
      <button class="button push" type="button" onClick=${onCancel}>${msg`Cancel`}</button>
    </p>
  `;
}

function Queued({ waits, onCancel }) {
  const { place, estimate_s: estimate } = waits;
  const seconds = integer(estimate ?? 0);
  const text = [
    place === 1
      ? msg`The server is busy: your run is next in the queue.`
      : msg`The server is busy: your run is number ${place} in the queue.`,
    estimate !== null &&
      plural(
        estimate,
        form`It starts in about ${seconds} second (estimated).`,
        form`It starts in about ${seconds} seconds (estimated).`,
      ),
  ];
  return html`
    <p class="message line on-line" role="status" id="queued">
      <span>${text.filter(Boolean).join(" ")}</span>
      <button class="button push" type="button" onClick=${onCancel}>${msg`Cancel`}</button>
    </p>
  `;
}

function Lost() {
  return html`
    <p class="message line on-line" role="status">
      <span>${msg`The connection is lost; trying again. Steps that you miss are fetched afterwards.`}</span>
    </p>
  `;
}

const CAUGHT_UP_MS = 6000;

/** After sleep, or on another network: why the picture has moved on. */
function CaughtUp({ steps, dispatch }) {
  useEffect(() => {
    const timer = setTimeout(() => dispatch({ type: "caughtUp", steps: 0 }), CAUGHT_UP_MS);
    return () => clearTimeout(timer);
  }, [steps, dispatch]);
  return html`
    <p class="message line on-line" role="status" id="caught-up">
      <span>${msg`The connection is back. Caught up: ${stepCount(steps)}.`}</span>
    </p>
  `;
}

function ProblemMessage({ problem, onContinue, onDismiss }) {
  const { title, detail, field, limit, retryAfter } = problem;
  const named = [field, limitInWords(limit)].filter(Boolean).join(", ");
  return html`
    <p class="message line on-line" data-tone="bad" role="alert" id="problem">
      <strong>${title}.</strong>
      <span>
        ${detail}${named && ` (${named})`}${retryAfter ? ` ${msg`Try again in ${retryAfter} s.`}` : ""}
      </span>
      ${onContinue && html`<button class="button push" type="button" onClick=${onContinue}>${msg`Continue from its log`}</button>`}
      <button class=${onContinue ? "button" : "button push"} type="button" onClick=${onDismiss}>${msg`Dismiss`}</button>
    </p>
  `;
}

/** @param {null|undefined|number|number[]} limit a largest value, or the least and the largest */
function limitInWords(limit) {
  if (limit === null || limit === undefined) return "";
  if (!Array.isArray(limit)) return msg`limit ${limit}`;
  const [low, high] = limit;
  return msg`limit ${low} to ${high}`;
}
