/** What happened up to the pass in sight, newest first. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { integer } from "../../facts/format.js";
import { ownerClass } from "../owners.js";
import { whatHappened } from "../sentences.js";

/** @param {Object} props as `Watched` gives them to all its parts; `newest`: no later pass is known */
export function Happened({ round, pass, requests, answers, newest }) {
  const upTo = newest && round.end ? null : pass.number;
  const events = useMemo(() => whatHappened(round, requests, answers, upTo), [answers, upTo]);
  return html`<section class="happened" aria-label="What happened">
    <h2>What happened</h2>
    <div class="events" tabindex="0" role="group" aria-label="Events, newest first"><ol>
      ${events.map(
        ({ ms, request, lead, rest }, at) => html`<li key=${events.length - at} class=${ownerClass(request)}>
        <span class="number">${integer(ms)} ms</span><span><b>${lead}</b>${rest}</span>
      </li>`,
      )}
    </ol></div>
  </section>`;
}
