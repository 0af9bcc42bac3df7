/** The dialog that creates a link to a closed run, with the exact values that the visitor chooses. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { IN_SITE, under } from "../../shared/log/root.js";
import { titleFrom } from "../../shared/share/sharing.js";
import { SharingForm } from "../../shared/share/sharing-form.js";
import { CloseButton } from "../../shared/ui/form.js";
import { msg } from "../../shared/words/msg.js";
import { EmbedButton } from "../embed/button.js";
import { momentInWords, momentOf } from "../state/moment.js";
import { ShareValues } from "./share-values.js";

/**
 * The dialog. Its form keeps its text while it is closed, so that notes can be written on several steps.
 *
 * @param {{state: Object, opened: number, client: Object}} props `opened`: how often the button was pressed
 */
export function ShareDialog({ state, opened, client }) {
  const { run } = state;
  const dialog = useRef(null);
  useLayoutEffect(() => dialog.current.showModal(), [opened]);
  const moment = momentOf(state);
  // Inside a room, the page is in a frame.
  const isAlone = window.parent === window;
  const values = ({ draft, busy, change, refusal }) =>
    html`<${ShareValues} run=${run.id} client=${client} busy=${busy} value=${draft.values} onChange=${(values) => change({ values })} refusal=${refusal} />`;
  return html`<dialog class="share popover" aria-labelledby="share-title" ref=${dialog}>
    <div class="share-head line between">
      <h2 id="share-title">${msg`Share this run`}</h2>
      <${CloseButton}>${msg`Close`}<//>
    </div>
    <${SharingForm}
      run=${run.id} title=${titleFrom(run.open.prompt)} moment=${moment} opens=${momentInWords(moment)} named="step" values=${values}
      Embed=${EmbedButton} limits=${state.limits} client=${client}
    />
    ${!IN_SITE && isAlone && html`<p><a href=${under("/room")}>${msg`Show this to a class: open a room`}</a></p>`}
  </dialog>`;
}
