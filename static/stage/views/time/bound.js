/** Whether decode is limited by memory, compared with what this machine can read. The reader starts the measurement. */

import { html } from "htm/preact";
import { useMeasured } from "../../../shared/ui/use-measured.js";
import { msg } from "../../../shared/words/msg.js";
import { verdict } from "./verdict.js";

/** @param {{decode: Object, ready: boolean, client: Object}} props `decode`: of `phaseFacts` */
export function Bound({ decode, ready, client }) {
  const { measured, going, problem, measure } = useMeasured(client.measure);
  return html`<p class="sheet-say">
    ${measured ? verdict(decode, measured.bandwidth) : msg`Does decode wait for memory? To find out, measure how fast this machine reads memory.`}${" "}
    <button class="button small" type="button" disabled=${!ready || going} onClick=${measure}>${going ? msg`Measuring…` : measured ? msg`Measure again` : msg`Measure this machine`}</button>
    ${problem && html`<span class="word-bad" role="alert"> ${problem}</span>`}
  </p>`;
}
