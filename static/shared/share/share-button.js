/** Opens the dialog that shares the run in sight, or says why it cannot be shared. */

import { html } from "htm/preact";
import { shareRefusal } from "./sharing.js";

/** @param {{state: Object, dispatch: Function}} props what plays stands still: what is shared is the moment in sight */
export function ShareButton({ state, dispatch }) {
  const refusal = shareRefusal(state.run);
  const open = () => {
    dispatch({ type: "pause" });
    /** @type {HTMLDialogElement} */ (document.querySelector("#share")).showModal();
  };
  return html`<button
    class="button is-large strong nowrap still" type="button" disabled=${refusal !== null} title=${refusal ?? "A link that opens this run, at this moment"}
    onClick=${open}
  >Share</button>`;
}
