/** Prefill beside decode: how much arithmetic each does per byte that it reads from memory. */

import { html } from "htm/preact";
import { bytesShort, integer, milliseconds, short, significant, times } from "../../../shared/facts/format.js";
import { oneFormat, readIn } from "../../../shared/facts/weights.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
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
  const formats = formatsOf(run, measured);
  const disturbed = Boolean(prefill?.disturbed || decode?.disturbed);
  return html`<p class="sheet-say">${comparison(run, prefill, decode, formats)}</p>
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
            cells: [formats.prefillIn, formats.decodeIn].map(
              (format) => html`<td class="is-words">${format ?? "–"}</td>`,
            ),
          },
        ]}
      />
    ${prefill && decode && html`<${PhaseBars} prefill=${prefill} decode=${decode} alike=${formats.alike} disturbed=${disturbed} />`}
    </div>
    ${decode && html`<${Bound} decode=${decode} here=${here} ready=${ready} client=${client} />`}
    <p class="sheet-note muted small">
      ${decode?.steps > 1 && `${msg`Decode figures are medians of ${decode.steps} steps.`} `}
      ${msg`Arithmetic counts the multiplications and additions of the matrix products. Memory read counts the weights, and K and V of earlier positions, once per pass. Rates divide these by the measured time.`}
    </p>`;
}

/** The format of the weights in each phase: in an older log, decode steps may read groups where prefill reads float32. */
function formatsOf({ steps, open: { model } }, { from, to }) {
  const first = from === 0 ? steps[0] : null;
  const later = steps.slice(Math.max(1, from), to);
  const [prefill, decode] = [first && oneFormat([first], model), later.length ? oneFormat(later, model) : null];
  const mixed = later.length > 0 && decode === null;
  return {
    ...{ prefill, decode: mixed ? msg`several formats` : decode, alike: !later.length || prefill === decode },
    prefillIn: first && readIn(first.data, model),
    decodeIn: mixed ? msg`several formats` : later.length ? readIn(later.at(-1).data, model) : null,
  };
}

function comparison(run, prefill, decode, formats) {
  const { prefillRows: rows, prefillPasses: passes } = run;
  const tokens = tokenCount(rows);
  const later = decode && { format: formats.decode, intensity: significant(decode.intensity) };
  if (!prefill)
    return msg`Decode reads the weights (learned numbers) for every token, in ${later.format}: ${later.intensity} operations per byte read.`;
  const [format, intensity] = [formats.prefill, significant(prefill.intensity)];
  const first =
    passes === 1
      ? msg`Prefill reads the weights (learned numbers) once for ${tokens}, in ${format}: ${intensity} operations per byte read.`
      : msg`Prefill reads the weights (learned numbers) ${passes} times for ${tokens}, in ${format}: ${intensity} operations per byte read.`;
  if (!decode) return `${first} ${msg`Decode has not started.`}`;
  const again = msg`Decode reads them again for every token, in ${later.format}: ${later.intensity} operations per byte read.`;
  return `${first} ${again} ${perToken(prefill, decode, formats.alike)}`;
}

/** The two phases are compared only where they read the weights in one format. */
function perToken(prefill, decode, alike) {
  if (prefill.disturbed || decode.disturbed)
    return msg`Some of the times were disturbed, so the times of the two phases are not compared.`;
  if (!alike)
    return msg`The two phases read the weights in different formats, with different code. Their memory and time are not compared.`;
  const [work, read, time] = ["flopsPerToken", "readPerToken", "msPerToken"].map((id) =>
    times(decode[id] / prefill[id]),
  );
  return msg`Per token, decode needs ${work} the arithmetic, ${read} the memory reads and ${time} the time of prefill.`;
}
