/** What is being waited for, and what went wrong with the log in sight. */

import { html } from "htm/preact";
import { counted } from "../../shared/facts/format.js";

const ENDED = {
  stopped: "This run was stopped: it goes no further than here.",
  interrupted: "The server was stopped while this ran: it goes no further than here.",
};

export function Notices({ state }) {
  const { log, missing, readiness, held, waits, actions } = state;
  const { reason, error } = log?.close ?? {};
  return html`<div class="notices stack">
    ${readiness.state === "failed" && html`<p class="own-wrong word-bad breaks" role="alert"><b>The model could not be loaded.</b> ${readiness.message} What ran before can still be watched.</p>`}
    ${held && readiness.state !== "failed" && html`<p class="notice-line" role="status">This will start as soon as the model is ready${held.question && html`, and your question <bdi>“${held.question.prompt}”</bdi> will be asked with it`}. <button type="button" class="link-button" onClick=${actions.letGo}>Cancel</button></p>`}
    ${waits && html`<p class="notice-line" role="status">The server is busy: this stands in line, at place ${waits.place}.${whenBegins(waits)} <button type="button" class="link-button" onClick=${actions.leaveLine}>Cancel</button></p>`}
    ${missing && html`<p class="own-wrong word-bad breaks" role="alert">${missing.message}</p>`}
    ${ENDED[reason] && html`<p class="notice-line" role="status">${ENDED[reason]}</p>`}
    ${reason === "failed" && html`<p class="own-wrong word-bad breaks" role="alert"><b>The engine failed.</b> ${error ?? ""} Up to there it is all here.</p>`}
  </div>`;
}

function whenBegins({ estimate_s }) {
  return estimate_s === null ? "" : ` It begins in about ${counted(estimate_s, "second")} (estimated).`;
}
