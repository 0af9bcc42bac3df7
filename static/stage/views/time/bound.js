/** Whether decode is limited by memory, compared with what this machine can read. The reader starts the measurement. */

import { html } from "htm/preact";
import { significant } from "../../../shared/facts/format.js";
import { useMeasured } from "../../../shared/ui/use-measured.js";
import { msg } from "../../../shared/words/msg.js";
import { verdict } from "./verdict.js";

/** @param {{decode: Object, ready: boolean, client: Object}} props `decode`: of `phaseFacts` */
export function Bound({ decode, ready, client }) {
  const { measured, going, problem, measure } = useMeasured(client.measure);
  return html`<p class="sheet-say">
    ${measured ? verdict(decode, measured) : msg`Decode does ${significant(decode.intensity)} operations per byte read. Whether memory limits it, only a measurement of this machine shows.`}${" "}
    <button class="button small" type="button" disabled=${!ready || going} onClick=${measure}>${going ? msg`Measuring…` : measured ? msg`Measure again` : msg`Measure this machine`}</button>
    ${problem && html`<span class="word-bad" role="alert"> ${problem}</span>`}
  </p>`;
}
