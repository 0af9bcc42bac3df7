/** Prefill beside decode: how much arithmetic each does per byte that it reads from memory. */

import { html } from "htm/preact";
import { bytesShort, integer, milliseconds, short, significant, times } from "../../../shared/facts/format.js";
import { bytesIn, formatReadBy } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { useMeasured } from "../../../shared/ui/use-measured.js";
import { tokenCount } from "../../../shared/words/counts.js";
import { msg } from "../../../shared/words/msg.js";
import { PhaseBars } from "./phase-bars.js";
import { Roofline } from "./roofline.js";
import { verdict } from "./verdict.js";

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
  const { steps } = run;
  const format = formatReadBy(steps);
  const weightsRead = [prefill && steps[0], decode && steps[measured.to - 1]].map(
    (step) => step && bytesIn(step.data.weights_read),
  );
  const disturbed = Boolean(prefill?.disturbed || decode?.disturbed);
  return html`<p class="sheet-say">${comparison(run, prefill, decode, format)}</p>
    <div class="sheet-columns">
      <${Table} name=${msg`Prefill and decode side by side`}
        columns=${[{}, { head: msg`prefill` }, { head: msg`decode` }]}
        rows=${[
          ...LINES.map(({ id, label, origin, ofTime, write }) => ({
            head: html`${label} <${Badge} origin=${ofTime && disturbed ? "disturbed" : origin} />`,
            cells: [prefill ? write(prefill[id]) : "–", decode ? write(decode[id]) : "–"],
          })),
          {
            head: html`${msg`format of the weights`} <${Badge} origin="computed" />`,
            cells: weightsRead.map((read) => html`<td class="is-words">${read ?? "–"}</td>`),
          },
        ]}
      />
    ${prefill && decode && html`<${PhaseBars} prefill=${prefill} decode=${decode} disturbed=${disturbed} />`}
    </div>
    ${decode && html`<${Bound} prefill=${prefill} decode=${decode} format=${format} here=${here} ready=${ready} client=${client} />`}
    <p class="sheet-note muted small">
      ${decode?.steps > 1 && `${msg`Decode figures are medians of ${decode.steps} steps.`} `}
      ${msg`Arithmetic counts the multiplications and additions of the matrix products. Memory read counts the weights, and K and V of earlier positions, once per pass. Rates divide these by the measured time.`}
    </p>`;
}

/**
 * Whether decode is limited by memory, compared with what this machine can read, and both phases under its roofline. The reader starts
 * the measurement.
 *
 * @param {{prefill: Object|null, decode: Object, format: string, here: boolean, ready: boolean, client: Object}} props `prefill`, `decode`: of `phaseFacts`; `here`: this server's machine computed it
 */
function Bound({ prefill, decode, format, here, ready, client }) {
  const { measured, going, problem, measure } = useMeasured(client.measure);
  if (!here)
    return html`<p class="sheet-say">${msg`Decode does ${significant(decode.intensity)} operations per byte read. Perhaps another machine measured its times, so they are not compared with the memory of this one.`}</p>`;
  return html`<p class="sheet-say">
    ${measured ? verdict(decode, measured) : msg`Decode does ${significant(decode.intensity)} operations per byte read. Whether memory limits it, only a measurement of this machine shows.`}${" "}
    <button class="button small" type="button" disabled=${!ready || going} onClick=${measure}>${going ? msg`Measuring…` : measured ? msg`Measure again` : msg`Measure this machine`}</button>
    ${problem && html`<span class="word-bad" role="alert"> ${problem}</span>`}
  </p>
  ${measured && html`<${Roofline} prefill=${prefill} decode=${decode} measured=${measured} format=${format} />`}`;
}

function comparison({ prefillRows: rows, prefillPasses: passes }, prefill, decode, format) {
  const tokens = tokenCount(rows);
  const [first, later] = [prefill, decode].map((phase) => phase && significant(phase.intensity));
  if (!prefill)
    return msg`Decode reads the weights (learned numbers) for every token, in ${format}: ${later} operations per byte read.`;
  const once =
    passes === 1
      ? msg`Prefill reads the weights (learned numbers) once for ${tokens}, in ${format}: ${first} operations per byte read.`
      : msg`Prefill reads the weights (learned numbers) ${passes} times for ${tokens}, in ${format}: ${first} operations per byte read.`;
  if (!decode) return `${once} ${msg`Decode has not started.`}`;
  const again = msg`Decode reads them again for every token, in ${format}: ${later} operations per byte read.`;
  return `${once} ${again} ${perToken(prefill, decode)}`;
}

function perToken(prefill, decode) {
  if (prefill.disturbed || decode.disturbed)
    return msg`Some of the times were disturbed, so the times of the two phases are not compared.`;
  const [work, read, time] = ["flopsPerToken", "readPerToken", "msPerToken"].map((id) =>
    times(decode[id] / prefill[id]),
  );
  return msg`Per token, decode needs ${work} the arithmetic, ${read} the memory reads and ${time} the time of prefill.`;
}
