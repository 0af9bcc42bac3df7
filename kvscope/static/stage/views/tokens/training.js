/** Training beside inference, for the prompt of this run. Its code is fetched when it is opened. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../../shared/ui/fetched.js";
import { msg } from "../../../shared/words/msg.js";

const PASS = async () => (await import("./training-pass.js")).TrainingPass;

/** @param {{state: Object, client: Object}} props */
export function Training(props) {
  const [open, setOpen] = useState(false);
  return html`<section class="training stack box still" data-names="training" aria-label=${msg`Training beside inference`}>
    <div class="beams-head row on-line wide between">
      <h3>${msg`What would training do with this prompt?`} <small>${msg`in training, every next token is known`}</small></h3>
      <button class="button small" type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? msg`Close` : msg`Ask the model`}</button>
    </div>
    ${open && html`<${Fetched} of=${PASS} ...${props} />`}
  </section>`;
}
