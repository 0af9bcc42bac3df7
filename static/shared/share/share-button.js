/** Opens the dialog that shares the current run; disabled, with the reason, if it cannot be shared. */

import { html } from "htm/preact";
import { msg } from "../words/msg.js";
import { shareRefusal } from "./sharing.js";

/** @param {{state: Object, dispatch: Function}} props playback pauses, because the link opens at the current step */
export function ShareButton({ state, dispatch }) {
  const refusal = shareRefusal(state.run);
  const open = () => {
    dispatch({ type: "pause" });
    /** @type {HTMLDialogElement} */ (document.querySelector("#share")).showModal();
  };
  return html`<button
    class="button is-large strong nowrap still" type="button" disabled=${refusal !== null} title=${refusal ?? msg`Creates a link that opens this run at this step`}
    onClick=${open}
  >${msg`Share`}</button>`;
}
