/** What people asked and what they have got so far: the one who is looked at, and all of them, folded. */

import { html } from "htm/preact";
import { useMemo, useState } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { proseOf, readable } from "../../shared/facts/prose.js";
import { standing, stateOf, whatHappened } from "../sentences.js";
import { Owner } from "./owner.js";

/** Why somebody waited, and what was spared: told where they are looked at. */
const JOINING = ["arrived", "joined"];

/** @param {Object} props as `Watched` gives them to all its parts */
export function Answers({ round, pass, requests, tally, version, look }) {
  const { answers } = tally;
  const { looked } = look;
  const joining = useMemo(
    () =>
      whatHappened(round, requests, tally, pass.number)
        .filter(({ request, what }) => request === looked && JOINING.includes(what))
        .reverse(),
    [round, version, pass, looked],
  );
  const of = (request) =>
    html`<${Answer} prompt=${requests[request].prompt} answer=${answers[request]} state=${stateOf(pass, request)} pass=${pass} />`;
  const [open, setOpen] = useState(false);
  return html`<div class="answers">
    <div class="answer is-looked">${look.looked === null ? html`<p class="muted">Point at a lane to read what that person asked and got.</p>` : of(look.looked)}${joining.map(({ ms, lead, rest }, at) => html`<p key=${at} class="answer-joining muted"><span class="number">${integer(ms)} ms</span> ${lead}${rest}</p>`)}</div>
    <details onToggle=${(event) => setOpen(event.currentTarget.open)}>
      <summary>All answers so far</summary>
      <ol>${open && requests.map((_, request) => html`<li key=${request} class="answer">${of(request)}</li>`)}</ol>
    </details>
  </div>`;
}

function Answer({ prompt, answer, state, pass }) {
  const tokens = answer.words.filter((word) => word.pass <= pass.number).map(({ token }) => token);
  const text = proseOf(tokens).map(readable).join("").trim();
  return html`<${Owner} request=${answer.request} />
    <p><bdi class="answer-asked strong">${prompt}</bdi> ${text && html`<bdi class="answer-text word-output">${text}</bdi> `}<span class="muted">${standing(state, answer, pass)}</span></p>`;
}
