/** Whether a step chooses the same token alone and beside other requests. Its code is fetched when it is opened. */

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { Fetched } from "../../../shared/ui/fetched.js";
import { msg } from "../../../shared/words/msg.js";

const STEPS = async () => (await import("./invariance-steps.js")).InvarianceSteps;

/** @param {{state: Object, client: Object, dispatch: Function}} props */
export function Invariance(props) {
  const [open, setOpen] = useState(false);
  return html`<section class="invariance stack box still" data-names="invariance" aria-label=${msg`Alone and beside other requests`}>
    <div class="beams-head row on-line wide between">
      <h3>${msg`Is it the same beside other requests?`} <small>${msg`the same sum, added in another order`}</small></h3>
      <button class="button small" type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>${open ? msg`Close` : msg`Compare`}</button>
    </div>
    ${open && html`<${Fetched} of=${STEPS} ...${props} />`}
  </section>`;
}
