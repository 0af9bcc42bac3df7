/** What happened up to the pass in sight, newest first. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { Memo } from "../../shared/ui/memo.js";
import { msg } from "../../shared/words/msg.js";
import { ownerClass } from "../owners.js";
import { whatHappened } from "../sentences.js";
import { wholeMs } from "../whole-ms.js";

/** @param {Object} props as `Watched` gives them to all its parts */
export function Happened({ log, round, pass, tally, version }) {
  const upTo = round.end && pass === round.passes.at(-1) ? null : pass.number;
  const events = useMemo(() => whatHappened(round, log.study.requests, tally, upTo), [tally, version, upTo]);
  return html`<section class="happened stack" aria-label=${msg`What happened`} data-names="happened">
    <h2>${msg`What happened`}</h2>
    <div class="events" tabindex="0" role="group" aria-label=${msg`Events, newest first`}><ol>
      ${events.map(
        ({ ms, request, lead, rest }, at) =>
          html`<${Memo} key=${events.length - at} of=${Line} ms=${ms} request=${request} lead=${lead} rest=${rest} />`,
      )}
    </ol></div>
  </section>`;
}

function Line({ ms, request, lead, rest }) {
  return html`<li class=${ownerClass(request)}>
    <span class="number">${wholeMs(ms)}</span><span><b>${lead}</b> ${rest}</span>
  </li>`;
}
