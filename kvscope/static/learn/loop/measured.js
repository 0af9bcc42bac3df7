/** Compares the formula with a real run: the rows that the engine counted with the cache and, after a second run, without. */

import { html } from "htm/preact";
import { fixed, integer, times } from "../../shared/facts/format.js";
import { rowsBefore, stepRows } from "../../shared/facts/step-rows.js";
import { useLog } from "../../shared/loading/use-log.js";
import { useConnected, useTwin } from "../../shared/loading/use-twin.js";
import { under } from "../../shared/log/root.js";
import { Run } from "../../shared/log/run.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { loopOf } from "./rows.js";

const makeRun = (id) => new Run(id);
const SHOWN_CHARS = 120;
const beginning = (text) => ([...text].length > SHOWN_CHARS ? `${[...text].slice(0, SHOWN_CHARS).join("")}…` : text);

/**
 * @param {{id: string|null, client: Object, ready: boolean, use: (prompt: number, added: number) => void, children: *}} props `use`: puts
 *   numbers into the fields; `children`: stand before the run
 */
export function Measured({ id, client, ready, use, children }) {
  const { log, problem } = useLog(client, id, makeRun);
  return html`<section class="own-card stack box" aria-label=${msg`Measured`}>
    <h2>${msg`Rows that the engine counted`} <${Badge} origin="measured" /></h2>
    ${children}
    ${!id && html`<p>${nodes`This installation has no recordings. ${html`<a href=${under("/")}>${msg`Run a prompt on the Stage`}</a>`}, then open its “Why a cache?” view.`}</p>`}
    ${problem && html`<p role="alert">${msg`This run could not be read: ${problem.message}`}</p>`}
    ${id && !problem && !log?.steps.length && html`<p role="status">${msg`Loading the run…`}</p>`}
    ${log?.steps.length > 0 && html`<${Counted} run=${log} client=${client} ready=${ready} use=${use} />`}
  </section>`;
}

function Counted({ run, client, ready, use }) {
  const connected = useConnected(client, run);
  const twin = useTwin({ client, run, connected, cache: "none" });
  const [prompt, added] = [run.promptLength, run.steps.length];
  const loop = loopOf(prompt, added);
  const took = (log) => msg`${fixed(log.steps.reduce((ms, step) => ms + step.data.ms.total, 0) / 1000, 1)} s`;
  const counted = (log) => log.steps.reduce((rows, _, step) => rows + stepRows(log, step).computed, 0);
  const before = rowsBefore(run);
  const whole = twin.log?.steps.length === added;
  const cached = counted(run) + before;
  return html`
    <p>${msg`“${beginning(run.open.prompt)}”: ${integer(prompt)} prompt tokens, ${integer(added)} new ones.`} <button type="button" class="link-button own-tools" onClick=${() => use(prompt, added)}>${msg`Use these numbers`}</button></p>
    <${Table} name=${msg`Counted and computed rows`} columns=${[{}, { head: msg`counted` }, { head: msg`formula` }]} rows=${[
      { head: msg`with the cache`, cells: [integer(cached), integer(loop.with)] },
      { head: msg`without a cache`, cells: [twin.log ? integer(counted(twin.log)) : "–", integer(loop.without)] },
      { head: msg`ratio`, cells: [whole ? times(counted(twin.log) / cached) : "–", times(loop.ratio)] },
      { head: msg`time with the cache`, cells: [took(run), ""] },
      { head: msg`time without a cache`, cells: [twin.log ? took(twin.log) : "–", ""] },
    ]} />
    ${before > 0 && html`<p class="muted small">${msg`${integer(before)} of the rows came from the cache of an earlier run; they are counted as computed.`}</p>`}
    <${TwinState} twin=${twin} run=${run} ready=${ready} />
    ${!twin.log && run.close && before === 0 && html`<p class="muted small">${msg`At the rate of step 0, ${integer(loop.without)} rows take about ${fixed((loop.without * run.steps[0].data.ms.total) / (1000 * prompt), 0)} s.`} <${Badge} origin="estimated" /></p>`}
    <p><a href=${under(`/?run=${run.id}#view=cache`)}>${msg`Open this run at “Why a cache?”, with the time and the memory of each step`}</a></p>`;
}

function TwinState({ twin, run, ready }) {
  const { log, starting, problem, start, stop } = twin;
  if (log && !log.close) {
    return html`<p class="row own-tools" role="status">
      <button class="button" type="button" onClick=${stop}>${msg`Stop`}</button>
      ${msg`Steps done: ${log.steps.length} of ${run.steps.length}`}
    </p>`;
  }
  return html`<p class="row own-tools">
    <button class="button" type="button" disabled=${!ready || starting || !run.close} onClick=${start}>
      ${starting ? msg`Starting…` : log ? msg`Run it without a cache again` : msg`Run it without a cache`}
    </button>
    ${!ready && html`<span>${msg`Available when the model is loaded.`}</span>`}
    ${problem && html`<span class="word-bad" role="alert">${problem.message}</span>`}
  </p>`;
}
