/** What the page waits for, and what went wrong with the workload in sight. */

import { html } from "htm/preact";
import { listed } from "../../shared/facts/format.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { EXPERIMENTS } from "../experiments.js";

const ENDED = {
  stopped: msg`This workload was stopped here.`,
  interrupted: msg`The server stopped while this workload ran, so it ends here.`,
};

export function Notices({ state }) {
  const { log, missing, readiness, held, waits, actions } = state;
  const { reason, error } = log?.close ?? {};
  const prompt = held?.question && html`<bdi>“${held.question.prompt}”</bdi>`;
  return html`<div class="notices stack">
    ${readiness.state === "failed" && html`<p class="own-wrong word-bad breaks" role="alert"><b>${msg`The model could not be loaded.`}</b> ${readiness.message} ${msg`You can still watch earlier workloads.`}</p>`}
    ${held && readiness.state !== "failed" && html`<p class="notice-line" role="status">${prompt ? nodes`This workload starts, with your prompt ${prompt}, as soon as the model is ready.` : msg`This workload starts as soon as the model is ready.`} <button type="button" class="link-button" onClick=${actions.letGo}>${msg`Cancel`}</button></p>`}
    ${waits && html`<p class="notice-line" role="status">${msg`The server is busy. This workload is number ${waits.place} in the queue.`} ${startEstimate(waits)} <button type="button" class="link-button" onClick=${actions.leaveLine}>${msg`Cancel`}</button></p>`}
    <${UnknownExperiment} experiment=${state.experiment} />
    ${missing && html`<p class="own-wrong word-bad breaks" role="alert">${missing.message}</p>`}
    ${ENDED[reason] && html`<p class="notice-line" role="status">${ENDED[reason]}</p>`}
    ${reason === "failed" && html`<p class="own-wrong word-bad breaks" role="alert"><b>${msg`The engine failed.`}</b> ${error ?? ""} ${msg`Everything before that is shown here.`}</p>`}
  </div>`;
}

/** An address may name an experiment that does not exist. */
function UnknownExperiment({ experiment }) {
  if (experiment === null || EXPERIMENTS.some(({ id }) => id === experiment)) return null;
  const names = listed(EXPERIMENTS.map(({ id }) => id));
  return html`<p class="own-wrong word-bad breaks" role="alert">${msg`The address names the experiment “${experiment}”, which does not exist. These exist: ${names}.`}</p>`;
}

function startEstimate({ estimate_s: seconds }) {
  if (seconds === null) return "";
  return plural(
    seconds,
    form`It starts in about ${seconds} second (estimated).`,
    form`It starts in about ${seconds} seconds (estimated).`,
  );
}
