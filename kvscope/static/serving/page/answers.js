/** Prompts and their answers so far: those of the selected request, and a folded list of all. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { proseOf, readable } from "../../shared/facts/prose.js";
import { msg } from "../../shared/words/msg.js";
import { stateOf, statusText, whatHappened } from "../sentences.js";
import { wholeMs } from "../whole-ms.js";
import { Owner } from "./owner.js";

/** Events that say why the selected request waited and what it shares. */
const JOINING = ["arrived", "joined"];

/** @param {Object} props as `Watched` gives them to all its parts */
export function Answers({ round, pass, requests, tally, version, look }) {
  const { answers } = tally;
  const { selected } = look;
  const joining = useMemo(
    () =>
      whatHappened(round, requests, tally, pass.number)
        .filter(({ request, what }) => request === selected && JOINING.includes(what))
        .reverse(),
    [round, version, pass, selected],
  );
  const of = (request) =>
    html`<${Answer} prompt=${requests[request].prompt} answer=${answers[request]} state=${stateOf(pass, request)} pass=${pass} />`;
  const [open, setOpen] = useState(false);
  return html`<div class="answers">
    <div class="answer is-selected">${requests[look.selected] ? of(look.selected) : html`<p class="muted">${msg`Point at a lane to see the request’s prompt and answer.`}</p>`}${joining.map(({ ms, lead, rest }, at) => html`<p key=${at} class="answer-joining muted"><span class="number">${wholeMs(ms)}</span> ${lead} ${rest}</p>`)}</div>
    <details onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>${msg`All answers so far`}</summary>
      <ol>${open && requests.map((_, request) => html`<li key=${request} class="answer">${of(request)}</li>`)}</ol>
    </details>
  </div>`;
}

function Answer({ prompt, answer, state, pass }) {
  const tokens = answer.outputs.filter((output) => output.pass <= pass.number).map(({ token }) => token);
  const text = proseOf(tokens).map(readable).join("").trim();
  return html`<${Owner} request=${answer.request} />
    <p><bdi class="answer-prompt strong">${prompt}</bdi> ${text && html`<bdi class="answer-text word-output">${text}</bdi> `}<span class="muted">${statusText(state, answer, pass)}</span></p>`;
}
