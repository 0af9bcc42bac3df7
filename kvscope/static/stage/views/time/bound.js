/** Whether decode is limited by memory, compared with what this machine can read. The reader starts the measurement. */

import { html } from "htm/preact";
import { significant } from "../../../shared/facts/format.js";
import { useMeasured } from "../../../shared/ui/use-measured.js";
import { msg } from "../../../shared/words/msg.js";
import { verdict } from "./verdict.js";

/** @param {{decode: Object, here: boolean, ready: boolean, client: Object}} props `decode`: of `phaseFacts`; `here`: this server's machine computed it */
export function Bound({ decode, here, ready, client }) {
  const { measured, going, problem, measure } = useMeasured(client.measure);
  if (!here)
    return html`<p class="sheet-say">${msg`Decode does ${significant(decode.intensity)} operations per byte read. Perhaps another machine measured its times, so they are not compared with the memory of this one.`}</p>`;
  return html`<p class="sheet-say">
    ${measured ? verdict(decode, measured) : msg`Decode does ${significant(decode.intensity)} operations per byte read. Whether memory limits it, only a measurement of this machine shows.`}${" "}
    <button class="button small" type="button" disabled=${!ready || going} onClick=${measure}>${going ? msg`Measuring…` : measured ? msg`Measure again` : msg`Measure this machine`}</button>
    ${problem && html`<span class="word-bad" role="alert"> ${problem}</span>`}
  </p>`;
}
