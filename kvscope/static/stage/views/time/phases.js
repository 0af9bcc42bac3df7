/** Prefill beside decode: how much arithmetic each does per byte that it reads from memory. */

import { html } from "htm/preact";
import { bytesShort, integer, milliseconds, short, significant, times } from "../../../shared/facts/format.js";
import { bytesIn, formatReadBy } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { tokenCount } from "../../../shared/words/counts.js";
import { msg } from "../../../shared/words/msg.js";
import { Bound } from "./bound.js";
import { PhaseBars } from "./phase-bars.js";

const LINES = [
  { id: "rows", label: msg`tokens per step`, origin: "measured", write: integer },
  { id: "ms", label: msg`time of the forward passes`, origin: "measured", ofTime: true, write: milliseconds },
  { id: "msPerToken", label: msg`time per token`, origin: "measured", ofTime: true, write: milliseconds },
  {
    id: "flops",
    label: msg`arithmetic (FLOP: one + or ×)`,
    origin: "computed",
    write: (value) => short(value, "FLOP"),
  },
  { id: "read", label: msg`memory read`, origin: "computed", write: bytesShort },
  {
    id: "intensity",
    label: msg`operations per byte (intensity)`,
    origin: "computed",
    write: (value) => `${significant(value)} FLOP/byte`,
  },
  {
    id: "flopsPerSecond",
    label: msg`arithmetic per second`,
    origin: "computed",
    ofTime: true,
    write: (value) => short(value, "FLOP/s"),
  },
  {
    id: "bytesPerSecond",
    label: msg`memory read per second`,
    origin: "computed",
    ofTime: true,
    write: (value) => short(value, "B/s"),
  },
];

/**
 * @param {{run: Object, prefill: Object|null, decode: Object|null, measured: {from: number, to: number}, here: boolean, ready: boolean, client: Object}} props
 *   `prefill`, `decode`: of `phaseFacts` for the steps `measured`; `here`: this server's machine computed them
 */
export function Phases({ run, prefill, decode, measured, here, ready, client }) {
  const later = run.steps.slice(Math.max(1, measured.from), measured.to);
  const disturbed = Boolean(prefill?.disturbed || decode?.disturbed);
  return html`<p class="sheet-say">${comparison(run, prefill, decode)}</p>
    <div class="sheet-columns">
    <div class="sheet-wide across" tabindex="0" role="region" aria-label=${msg`Prefill and decode`}>
      <table class="numbers phases" aria-label=${msg`Prefill and decode side by side`}>
        <thead>
          <tr>
            <td></td><th scope="col">${msg`prefill`}</th>
            <th scope="col">${msg`decode`}</th>
          </tr>
        </thead>
        <tbody>
          ${LINES.map(
            ({ id, label, origin, ofTime, write }) => html`<tr key=${id}>
              <th scope="row">${label} <${Badge} origin=${ofTime && disturbed ? "disturbed" : origin} /></th>
              <td>${prefill ? write(prefill[id]) : "–"}</td><td>${decode ? write(decode[id]) : "–"}</td>
            </tr>`,
          )}
          <tr>
            <th scope="row">${msg`format of the weights`} <${Badge} origin="computed" /></th>
            <td class="is-words">${measured.from === 0 ? readIn(run.steps[0]) : "–"}</td><td class="is-words">${readIn(later.at(-1))}</td>
          </tr>
        </tbody>
      </table>
    </div>
    ${prefill && decode && html`<${PhaseBars} prefill=${prefill} decode=${decode} disturbed=${disturbed} />`}
    </div>
    ${decode && html`<${Bound} decode=${decode} here=${here} ready=${ready} client=${client} />`}
    <p class="sheet-note muted small">
      ${decode?.steps > 1 && `${msg`Decode figures are medians of ${decode.steps} steps.`} `}
      ${msg`Arithmetic counts the multiplications and additions of the matrix products. Memory read counts the weights, and K and V of earlier positions, once per pass. Rates divide these by the measured time.`}
    </p>`;
}

/** @returns {string} the bytes of weights that a step read, by format; a dash if there is no such step */
function readIn(step) {
  return step ? bytesIn(step.data.weights_read) : "–";
}

function comparison(run, prefill, decode) {
  const { prefillRows: rows, prefillPasses: passes } = run;
  const tokens = tokenCount(rows);
  const format = formatReadBy(run.steps);
  const later = decode && significant(decode.intensity);
  if (!prefill)
    return msg`Decode reads the weights (learned numbers) for every token, in ${format}: ${later} operations per byte read.`;
  const intensity = significant(prefill.intensity);
  const first =
    passes === 1
      ? msg`Prefill reads the weights (learned numbers) once for ${tokens}, in ${format}: ${intensity} operations per byte read.`
      : msg`Prefill reads the weights (learned numbers) ${passes} times for ${tokens}, in ${format}: ${intensity} operations per byte read.`;
  if (!decode) return `${first} ${msg`Decode has not started.`}`;
  const again = msg`Decode reads them again for every token, in ${format}: ${later} operations per byte read.`;
  return `${first} ${again} ${perToken(prefill, decode)}`;
}

function perToken(prefill, decode) {
  if (prefill.disturbed || decode.disturbed)
    return msg`Some of the times were disturbed, so the times of the two phases are not compared.`;
  const [work, read, time] = ["flopsPerToken", "readPerToken", "msPerToken"].map((id) =>
    times(decode[id] / prefill[id]),
  );
  return msg`Per token, decode needs ${work} the arithmetic, ${read} the memory reads and ${time} the time of prefill.`;
}
