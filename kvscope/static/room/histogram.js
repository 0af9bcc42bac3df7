/** How often each answer was chosen, in one vote or in two. It does not say which answer is right. */

import { html } from "htm/preact";
import { msg } from "../shared/words/msg.js";
import { AMONG_OTHERS, countsOf, inDigits, shareOf, totalOf, totalsInWords } from "./answers.js";

/** @param {{question: Object, own?: string|null}} props `own`: the viewer's answer to the last vote */
export function Histogram({ question, own = null }) {
  const totals = question.rounds.map(totalOf);
  return html`<div class="stack">
    <ul class="room-histogram stack" aria-label=${msg`Answers of the room`}>
      ${countsOf(question).map(
        ({ answer, votes }) => html`<li key=${answer} class="stack tight">
          <p><bdi class=${answer === own ? "strong" : ""}>${inDigits(question, answer)}</bdi>${answer === own && html` <span class="badge">${msg`your answer`}</span>`}</p>
          ${votes.map((count, at) => html`<${Bar} key=${at} vote=${votes.length > 1 ? at + 1 : null} isLast=${at === votes.length - 1} count=${count} total=${totals[at]} />`)}
        </li>`,
      )}
    </ul>
    <p class="muted small">${totalsInWords(question).join(" · ")}</p>
  </div>`;
}

/** The whole track is all answers of the vote, so that votes with different numbers of answers can be compared. */
function Bar({ vote, isLast, count, total }) {
  return html`<div class=${`room-bar-line${isLast ? " is-last" : ""}`}>
    ${vote !== null && html`<span class="muted small nowrap">${msg`vote ${vote}`}</span>`}
    <span class="track is-whole grow">${count > 0 && html`<i style=${`width:${(100 * count) / total}%`}></i>`}</span>
    <span class="number small nowrap">${count === null ? AMONG_OTHERS : `${count} · ${shareOf(count, total)}`}</span>
  </div>`;
}
