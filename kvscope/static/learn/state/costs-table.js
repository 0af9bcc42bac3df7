/** The cost of losing or moving each part, for a run of n tokens. */

import { html } from "htm/preact";
import { bytesShort, fixed, integer, milliseconds } from "../../shared/facts/format.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { costsOf, rateOf } from "./costs.js";

/**
 * @param {{state: Object, tokens: number, gigabits: number, measuring: {going: boolean, problem: string, measure: () => void}}} props
 *   `measuring`: state of the measurement of prefill
 */
export function CostsTable({ state, tokens, gigabits, measuring }) {
  const { weights, cache, ids } = costsOf(state, { tokens, gigabits });
  const seconds = (value) => (value === null || value === undefined ? "–" : timeOf(value));
  const rows = [
    {
      name: msg`Weights`,
      kind: "word-weights",
      ...weights,
      says: msg`Lost with the engine process: its runs are interrupted, the process starts again and loads the file. Another machine can load the same file.`,
    },
    {
      name: msg`KV cache of this run`,
      kind: "word-cached",
      ...cache,
      says: msg`Lost: the run is interrupted. Once somebody continues it from its log, its tokens go through the model again (prefill), with the same result up to rounding. Moved: K and V of every token, layer and KV head.`,
    },
    {
      name: msg`Token ids of this run`,
      kind: "word-output",
      ...ids,
      says: msg`Lost: the run is gone, because nothing else says which tokens it had. Moved: enough to compute everything else again.`,
    },
  ];
  return html`<${Table} name=${msg`What losing or moving it costs`} kind="state-costs"
    columns=${[{}, { head: msg`bytes` }, { head: msg`if it is lost` }, { head: msg`to move it` }]}
    rows=${rows.map(({ name, kind, bytes, lostS, movedS, says }) => ({
      key: name,
      head: html`<b class=${kind}>${name}</b>`,
      cells: [bytes === undefined ? "–" : bytesShort(bytes), seconds(lostS), seconds(movedS)],
      says,
    }))}
  />
  <${Sources} state=${state} gigabits=${gigabits} measuring=${measuring} />`;
}

/** A shorter time is written as a bound. */
const LEAST_S = 5e-6;
const timeOf = (seconds) =>
  seconds > 0 && seconds < LEAST_S ? `<${milliseconds(0.01)}` : milliseconds(1000 * seconds);

const originOf = ({ steps, disturbed }) => (2 * disturbed > steps ? "disturbed" : "measured");

/** Shows the sources of the times. */
function Sources({ state: { engine, pace }, gigabits, measuring }) {
  const prefill = pace && rateOf(pace.prefill);
  const decode = pace && rateOf(pace.decode);
  return html`<ul class="muted stack tight learn-say">
    <li>${engine.load_s === null ? msg`The engine has not loaded the model yet.` : msg`The last load took ${milliseconds(1000 * engine.load_s)}, without the download.`} <${Badge} origin="measured" /></li>
    <li>${
      prefill
        ? msg`Prefill: ${integer(prefill)} tokens per second since the engine started. Steps: ${integer(pace.prefill.steps)}, disturbed by other programs: ${integer(pace.prefill.disturbed)}, rows: ${integer(pace.prefill.rows)}.`
        : msg`No prefill has run alone since the engine started, so its speed is not known.`
    } ${prefill && html`<${Badge} origin=${originOf(pace.prefill)} />`} <${MeasurePrefill} ready=${pace !== null} measuring=${measuring} /></li>
    ${decode && html`<li>${msg`Decode: ${fixed(decode, 1)} tokens per second. Steps: ${integer(pace.decode.steps)}, disturbed by other programs: ${integer(pace.decode.disturbed)}.`} <${Badge} origin=${originOf(pace.decode)} /></li>`}
    <li>${msg`The times for this number of tokens follow from that speed: longer prompts also compute more attention, which this leaves out.`} <${Badge} origin="estimated" /></li>
    <li>${msg`Moving: bytes × 8 ÷ ${fixed(gigabits, 0)} Gbit/s, without latency and without other traffic.`} <${Badge} origin="estimated" /></li>
  </ul>`;
}

function MeasurePrefill({ ready, measuring: { going, problem, measure } }) {
  return html`<button type="button" class="button small own-tools" disabled=${going || !ready} onClick=${measure}>
      ${going ? msg`Measuring…` : msg`Read a prompt of about 200 tokens now`}
    </button>
    ${problem && html` <span class="word-bad" role="alert">${problem}</span>`}`;
}
