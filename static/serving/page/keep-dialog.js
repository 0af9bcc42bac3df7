/** The dialog that makes a link of a workload: as that of a run, with a pass in place of a step. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { Sharing } from "../../shared/share/share-dialog.js";
import { titleFrom } from "../../shared/share/sharing.js";
import { passCount, passPlace } from "../pass-place.js";
import { FrameText } from "./frame-text.js";

/**
 * What is typed is kept while the dialog is closed, so that notes can be written on several passes.
 *
 * @param {{log: import("../../shared/log/workload.js").Workload, pass: number, opened: number, limits: Object, client: Object}} props `opened`: how
 *   often it was asked for
 */
export function KeepDialog({ log, pass, opened, limits, client }) {
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), [opened]);
  const { requests } = log.study;
  const { place, passes, where } = passPlace(log, pass);
  return html`<dialog class="share popover" aria-labelledby="keep-title" ref=${dialog}>
    <div class="share-head line between">
      <h2 id="keep-title">Share this run</h2>
      <form method="dialog"><button class="button">Close</button></form>
    </div>
    <${Sharing}
      run=${log.id} title=${titleOf(log.study)} asked=${requests.length === 1 ? "its prompt" : "everybody’s prompt"} moment=${{ step: pass }}
      opens=${`Pass ${place} of ${passes}${where}`} named="pass" count=${(step) => passCount(log, step)} Embed=${FrameText} limits=${limits} client=${client}
    />
  </dialog>`;
}

/** @returns {string} what was asked first, and how many asked besides */
function titleOf({ requests }) {
  const more = requests.length - 1;
  return `${titleFrom(requests[0].prompt)}${more ? ` and ${integer(more)} more at once` : ""}`;
}
