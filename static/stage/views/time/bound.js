/** Whether decode waits for memory, held against what this machine can read: measured when somebody asks. */

import { html } from "htm/preact";
import { useMeasured } from "../../../shared/ui/use-measured.js";
import { verdict } from "./verdict.js";

/** @param {{decode: Object, ready: boolean, client: Object}} props `decode`: of `phaseFacts` */
export function Bound({ decode, ready, client }) {
  const { measured, going, problem, measure } = useMeasured(client.measure);
  return html`<p class="sheet-say">
    ${measured ? verdict(decode, measured.bandwidth) : "Does decode wait for memory? That shows beside what this machine can read a second."}${" "}
    <button class="button small" type="button" disabled=${!ready || going} onClick=${measure}>${going ? "Measuring…" : measured ? "Measure again" : "Measure this machine"}</button>
    ${problem && html`<span class="word-bad" role="alert"> ${problem}</span>`}
  </p>`;
}
