/** Messages above the page: problems, waiting, and what the reader can do. */

import { html } from "htm/preact";
import { useEffect } from "preact/hooks";
import { ending } from "../../shared/facts/endings.js";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { stepCount } from "../../shared/words/counts.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { unloadedModel } from "../facts/models.js";
import { canComputeHere, computesHere } from "../state/run-request.js";

const EXACT_HERE = async () => (await import("./exact-here.js")).ExactHere;
/** Views of exact values. */
const EXACT = ["block", "pair", "model", "effects"];
/** What the kernel of a notebook cannot do now. */
const KERNEL = {
  busy: msg`The kernel has not answered yet: it is busy, or gone. What is recorded plays.`,
  gone: msg`The kernel is gone. What is recorded still plays.`,
};
/** Statuses of a server that can start no run now: too many requests, not ready, no room. */
const FULL = [429, 503, 507];

export function Messages({ state, dispatch, client, controller }) {
  const { problem, held, waits, connected, readiness, run, embed, kernel } = state;
  // A page inside another one needs no model, and its reader cannot do anything about it.
  const unloaded = unloadedModel(state);
  const failed = readiness.state === "failed" && !embed;
  const exact =
    state.inSite &&
    computesHere(state) &&
    run?.saved &&
    run.open &&
    !state.asking &&
    EXACT.includes(state.selection.view);
  const here = canComputeHere(state) ? () => controller.runHere() : null;
  return html`
    <div class="messages">
      ${unloaded && html`<${Unloaded} model=${unloaded} onLoad=${() => controller.loadModel(unloaded.name)} />`}
      ${exact && html`<${Fetched} of=${EXACT_HERE} run=${run} readiness=${readiness} client=${client} controller=${controller} />`}
      ${failed && (!problem || problem.continues) && html`<${ModelFailed} readiness=${readiness} onAgain=${computesHere(state) ? controller.loadModelHere : null} />`}
      ${held && html`<${Held} readiness=${readiness} onHere=${here} onCancel=${controller.cancelWaiting} />`}
      ${waits && html`<${Queued} waits=${waits} onHere=${here} onCancel=${() => client.remove(waits.id)} />`}
      ${kernel && KERNEL[kernel] && html`<p class="message line on-line" role="status" id="kernel"><span>${KERNEL[kernel]}</span></p>`}
      ${!connected && !ending(run?.close) && html`<${Lost} />`}
      ${state.caughtUp > 0 && html`<${CaughtUp} steps=${state.caughtUp} dispatch=${dispatch} />`}
      ${problem && html`<${ProblemMessage} problem=${problem} onHere=${FULL.includes(problem.status) ? here : null} onContinue=${problem.continues && controller.continueRun} onDismiss=${() => dispatch({ type: "problem", problem: null })} />`}
    </div>
  `;
}

function ModelFailed({ readiness: { message, stopped }, onAgain }) {
  return html`
    <p class="message line on-line" data-tone="bad" role="alert">
      <strong>${stopped ? message : msg`The model could not be loaded.`}</strong> <span>${!stopped && message} ${msg`Recorded runs still play.`}</span>
      ${onAgain && html`<button class="button push" type="button" onClick=${onAgain}>${msg`Load it again`}</button>`}
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

function Held({ readiness: { message, done, total }, onHere, onCancel }) {
  const progress = total > 0 ? msg`${message}: ${bytesShort(done)} of ${bytesShort(total)}.` : "";
  return html`
    <p class="message line on-line" role="status">
      <span>${msg`Your run starts as soon as the model is ready.`} ${progress}</span>
      ${onHere && html`<${Here} onClick=${onHere} />`}
      <button class="button push" type="button" onClick=${onCancel}>${msg`Cancel`}</button>
    </p>
  `;
}

/** Computes on this device instead: the model is downloaded first. */
function Here({ onClick }) {
  return html`<button class="button push" type="button" title=${msg`Downloads the model to this device, then runs it inside this page. What you type stays here.`} onClick=${onClick}>${msg`Run on this device`}</button>`;
}

function Queued({ waits, onHere, onCancel }) {
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
      ${onHere && html`<${Here} onClick=${onHere} />`}
      <button class=${onHere ? "button" : "button push"} type="button" onClick=${onCancel}>${msg`Cancel`}</button>
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

function ProblemMessage({ problem, onHere, onContinue, onDismiss }) {
  const { title, detail, field, limit, retryAfter } = problem;
  const named = [field, limitInWords(limit)].filter(Boolean).join(", ");
  return html`
    <p class="message line on-line" data-tone="bad" role="alert" id="problem">
      <strong>${title}.</strong>
      <span>
        ${detail}${named && ` (${named})`}${retryAfter ? ` ${msg`Try again in ${retryAfter} s.`}` : ""}
      </span>
      ${onHere && html`<${Here} onClick=${onHere} />`}
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
