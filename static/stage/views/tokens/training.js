/** The question what training would do with the prompt; what answers it is fetched once it is asked. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../../shared/ui/fetched.js";

const PASS = async () => (await import("./training-pass.js")).TrainingPass;

/** @param {{state: Object, client: Object}} props */
export function Training(props) {
  const [open, setOpen] = useState(false);
  return html`<section class="training stack box still" aria-label="Training beside inference">
    <div class="beams-head row on-line wide between">
      <h3>What would training do with this prompt? <small>it knows which token came next, everywhere</small></h3>
      <button class="button small" type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? "Close" : "Ask the model"}</button>
    </div>
    ${open && html`<${Fetched} of=${PASS} ...${props} />`}
  </section>`;
}
