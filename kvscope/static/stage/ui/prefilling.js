/** The progress of prefill, as a sentence and a bar. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";

/** @param {{run: import("../../shared/log/run.js").Run}} props `run`: before its first step */
export function Prefilling({ run }) {
  const [done, all] = [run.partialRows, run.prefillRows];
  const progress = msg`Prefill: ${done} of ${all} prompt rows have gone through the model.`;
  return html`<p>${progress} ${run.reused > 0 && msg`${run.reused} more rows were read from the cache.`}</p>
    <progress max=${run.prefillRows} value=${run.partialRows} aria-label=${msg`Prompt rows`}></progress>`;
}
