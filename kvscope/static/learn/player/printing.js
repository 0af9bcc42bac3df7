/** The dialog while the pictures of a handout are being prepared. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { msg } from "../../shared/words/msg.js";

/** @param {{at: number, steps: number, cancel: () => void}} props `at`: the step whose picture is next, from 0 */
export function Printing({ at, steps, cancel }) {
  const dialog = useRef(null);
  useLayoutEffect(() => {
    const element = dialog.current;
    element.showModal();
    return () => element.close();
  }, []);
  return html`<dialog class="popover stack" aria-labelledby="printing-title" ref=${dialog} onClose=${cancel}>
    <h2 id="printing-title">${msg`Preparing the handout`}</h2>
    <progress max=${steps} value=${at} aria-labelledby="printing-title"></progress>
    <p role="status">${msg`Picture of step ${at + 1} of ${steps}`}</p>
    <button type="button" class="button" onClick=${cancel}>${msg`Cancel`}</button>
  </dialog>`;
}
