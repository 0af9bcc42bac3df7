/** How far a prompt that is still being read has come, in a sentence and a bar. */

import { html } from "htm/preact";

/** @param {{run: import("../log/run.js").Run}} props `run`: whose first step has yet to come */
export function Prefilling({ run }) {
  return html`<p>Prefill: ${run.partialRows} of ${run.prefillRows} prompt rows have gone through the model${run.reused ? `, ${run.reused} more were read from the cache` : ""}.</p>
    <progress max=${run.prefillRows} value=${run.partialRows} aria-label="Prompt rows"></progress>`;
}
