/** Prefill beside decode: what a byte read from memory is good for in each. */

import { html } from "htm/preact";
import { bytesShort, counted, integer, milliseconds, short, significant, times } from "../../../shared/facts/format.js";
import { oneFormat, readIn } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Bound } from "./bound.js";
import { PhaseBars } from "./phase-bars.js";

const LINES = [
  { id: "rows", name: "rows in one step", origin: "measured", write: integer },
  { id: "ms", name: "forward passes alone", origin: "measured", ofTime: true, write: milliseconds },
  { id: "msPerToken", name: "per token", origin: "measured", ofTime: true, write: milliseconds },
  { id: "flops", name: "arithmetic", origin: "computed", write: (value) => short(value, "FLOP") },
  { id: "read", name: "memory read", origin: "computed", write: bytesShort },
  {
    id: "intensity",
    name: "arithmetic intensity",
    origin: "computed",
    write: (value) => `${significant(value)} FLOP/byte`,
  },
  {
    id: "flopsPerSecond",
    name: "arithmetic done per second",
    origin: "computed",
    ofTime: true,
    write: (value) => short(value, "FLOP/s"),
  },
  {
    id: "bytesPerSecond",
    name: "memory read per second",
    origin: "computed",
    ofTime: true,
    write: (value) => short(value, "B/s"),
  },
];

/** @param {{run: Object, prefill: Object, decode: Object|null, ready: boolean, client: Object}} props of `phaseFacts` */
export function Phases({ run, prefill, decode, ready, client }) {
  const formats = formatsOf(run);
  const disturbed = prefill.disturbed || Boolean(decode?.disturbed);
  return html`<p class="sheet-say">${say(run, prefill, decode, formats)}</p>
    <div class="sheet-columns">
    <div class="sheet-wide across" tabindex="0" role="region" aria-label="Prefill and decode">
      <table class="numbers phases" aria-label="Prefill and decode side by side">
        <thead>
          <tr>
            <td></td><th scope="col">prefill</th>
            <th scope="col">decode</th>
          </tr>
        </thead>
        <tbody>
          ${LINES.map(
            ({ id, name, origin, ofTime, write }) => html`<tr key=${id}>
              <th scope="row">${name} <${Badge} origin=${ofTime && disturbed ? "disturbed" : origin} /></th>
              <td>${write(prefill[id])}</td><td>${decode ? write(decode[id]) : "–"}</td>
            </tr>`,
          )}
          <tr>
            <th scope="row">weights as read <${Badge} origin="computed" /></th>
            <td class="is-words">${formats.prefillIn}</td><td class="is-words">${formats.decodeIn ?? "–"}</td>
          </tr>
        </tbody>
      </table>
    </div>
    ${decode && html`<${PhaseBars} prefill=${prefill} decode=${decode} alike=${formats.alike} disturbed=${disturbed} />`}
    </div>
    ${decode && html`<${Bound} decode=${decode} ready=${ready && !run.saved} client=${client} />`}
    <p class="sheet-note muted small">
      ${decode?.steps > 1 && `Decode: the median of ${counted(decode.steps, "step")}. `}Arithmetic: multiply-adds × 2 of the
      matrix products. Memory read: the weights, and K and V of the positions before, counted once per pass.
      The rates divide them by the measured time; no peak of any hardware is assumed.
    </p>`;
}

/** What the weights were read in, in each phase. A decode step alone may read groups where prefill reads float32. */
function formatsOf({ steps, open: { model } }) {
  const [first, ...later] = steps;
  const [prefill, decode] = [oneFormat([first], model), later.length ? oneFormat(later, model) : null];
  const mixed = later.length > 0 && decode === null;
  return {
    ...{ prefill, decode: mixed ? "several formats" : decode, alike: !later.length || prefill === decode },
    prefillIn: readIn(first.data, model),
    decodeIn: mixed ? "several formats" : later.length ? readIn(later.at(-1).data, model) : null,
  };
}

function say(run, prefill, decode, formats) {
  const passes = run.prefillPasses;
  const reads = `Prefill reads the weights ${passes === 1 ? "once" : `${passes} times`} for ${counted(run.prefillRows, "token")}, in ${formats.prefill}`;
  const shared = `${reads}: ${significant(prefill.intensity)} operations for each byte.`;
  if (!decode) return `${shared} Decode has not begun.`;
  const again = `Decode reads them again for every token, in ${formats.decode}: ${significant(decode.intensity)}.`;
  if (prefill.disturbed || decode.disturbed)
    return `${shared} ${again} The times are disturbed: the two phases are not compared by them.`;
  if (!formats.alike)
    return `${shared} ${again} These are other bytes for the same weights, and other code: memory and time of the two phases are not compared.`;
  const [work, read, time] = ["flopsPerToken", "readPerToken", "msPerToken"].map((id) => decode[id] / prefill[id]);
  const costs = `does ${times(work)} the arithmetic of prefill, reads ${times(read)} the memory and takes ${times(time)} the time`;
  return `${shared} ${again} Per token, decode ${costs}.`;
}
