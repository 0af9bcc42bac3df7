/** The dialog that creates a link to a workload: like that of a run, with passes instead of steps. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { titleFrom } from "../../shared/share/sharing.js";
import { SharingForm } from "../../shared/share/sharing-form.js";
import { CloseButton } from "../../shared/ui/form.js";
import { requestCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";
import { passNumber, passOfAllLabel } from "../pass-place.js";
import { FrameText } from "./frame-text.js";

/**
 * Keeps its text while it is closed, so that the viewer can write notes on several passes.
 *
 * @param {{log: import("../workload-log.js").Workload, pass: number, opened: number, limits: Object, client: Object}} props `opened`: how
 *   often the button was pressed
 */
export function ShareDialog({ log, pass, opened, limits, client }) {
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), [opened]);
  return html`<dialog class="share popover" aria-labelledby="serving-share-title" ref=${dialog}>
    <div class="share-head line between">
      <h2 id="serving-share-title">${msg`Share this workload`}</h2>
      <${CloseButton}>${msg`Close`}<//>
    </div>
    <${SharingForm}
      run=${log.id} title=${titleOf(log.study)} moment=${{ step: pass }}
      opens=${passOfAllLabel(log, pass)} named="pass" count=${(step) => passNumber(log, step)} Embed=${FrameText} limits=${limits} client=${client}
    />
  </dialog>`;
}

/** @returns {string} the first prompt, and how many more there are; a conversation is named by its length */
function titleOf({ requests }) {
  if (requests[0].messages) return msg`A conversation of ${requestCount(requests.length)}`;
  const first = titleFrom(requests[0].prompt);
  const more = integer(requests.length - 1);
  return requests.length > 1 ? msg`${first} and ${more} more at once` : first;
}
