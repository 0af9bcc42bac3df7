/** What losing or moving each part costs, for a run of n tokens. */

import { html } from "htm/preact";
import { bytesShort, fixed, integer, milliseconds, times } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { msg } from "../../shared/words/msg.js";
import { costsOf, rateOf } from "./costs.js";

/** @param {{state: Object, tokens: number, gigabits: number}} props */
export function CostsTable({ state, tokens, gigabits }) {
  const { weights, cache, ids } = costsOf(state, { tokens, gigabits });
  const seconds = (value) => (value === null || value === undefined ? "–" : milliseconds(1000 * value));
  const rows = [
    {
      name: msg`Weights`,
      kind: "word-weights",
      ...weights,
      lost: msg`Every run stops. The engine process starts again and loads the file.`,
      moved: msg`Seldom moved: another machine loads the same file.`,
    },
    {
      name: msg`KV cache of this run`,
      kind: "word-cached",
      ...cache,
      lost: msg`The run’s tokens go through the model again (prefill). The result is the same.`,
      moved: msg`K and V of every token, layer and KV head.`,
    },
    {
      name: msg`Token ids of this run`,
      kind: "word-output",
      ...ids,
      lost: msg`The run is lost: nothing else says which tokens it had.`,
      moved: msg`Enough to compute everything else again.`,
    },
  ];
  return html`<div class="across" tabindex="0" role="region" aria-label=${msg`What losing or moving it costs`}><table class="learn-table state-costs">
    <thead><tr><td></td><th scope="col" class="is-number">${msg`bytes`}</th><th scope="col" class="is-number">${msg`if it is lost`}</th><th scope="col" class="is-number">${msg`to move it`}</th><th scope="col">${msg`what happens`}</th></tr></thead>
    <tbody>${rows.map(
      ({ name, kind, bytes, lostS, movedS, lost, moved }) => html`<tr key=${name}>
        <th scope="row"><b class=${kind}>${name}</b></th>
        <td class="is-number">${bytes === undefined ? "–" : bytesShort(bytes)}</td>
        <td class="is-number">${seconds(lostS)}</td>
        <td class="is-number">${seconds(movedS)}</td>
        <td>${lost} ${moved}</td>
      </tr>`,
    )}</tbody>
  </table></div>
  <${Sources} state=${state} gigabits=${gigabits} />`;
}

/** Where the times come from. */
function Sources({ state: { engine, pace }, gigabits }) {
  const prefill = pace && rateOf(pace.prefill);
  const decode = pace && rateOf(pace.decode);
  return html`<ul class="muted stack tight learn-say">
    <li>${engine.load_s === null ? msg`The engine has not loaded the model yet.` : msg`The last load took ${milliseconds(1000 * engine.load_s)}, without the download.`} <${Badge} origin="measured" /></li>
    <li>${
      prefill
        ? msg`Prefill: ${integer(prefill)} tokens per second, over ${integer(pace.prefill.rows)} rows in ${integer(pace.prefill.steps)} steps since the engine started, ${integer(pace.prefill.disturbed)} of them disturbed by other programs.`
        : msg`No prefill has run alone since the engine started, so its speed is not known. Run a prompt, then measure again.`
    } ${prefill && html`<${Badge} origin="measured" />`}</li>
    ${decode && html`<li>${msg`Decode: ${fixed(decode, 1)} tokens per second. Prefill computes a row ${times(prefill / decode)} as fast, so computing a run again takes less time than writing it took.`} <${Badge} origin="measured" /></li>`}
    <li>${msg`The times for this number of tokens follow from that speed: longer prompts also compute more attention, which this leaves out.`} <${Badge} origin="estimated" /></li>
    <li>${msg`Moving: bytes × 8 ÷ ${fixed(gigabits, 0)} Gbit/s, without latency and without other traffic.`} <${Badge} origin="estimated" /></li>
  </ul>`;
}
