/** The loop calculator: rows for N prompt tokens and K new ones, with a KV cache and without. */

import { html } from "htm/preact";
import { integer, times } from "../../shared/facts/format.js";
import { FigureLines } from "../../shared/figures/figure-lines.js";
import { Badge } from "../../shared/ui/badge.js";
import { Table } from "../../shared/ui/table.js";
import { msg } from "../../shared/words/msg.js";
import { loopFigures } from "../figures/calculations.js";
import { Frame } from "../parts/frame.js";
import { NumberField } from "../parts/number-field.js";
import { useAddress } from "../parts/use-address.js";
import { useNumbers } from "../parts/use-numbers.js";
import { useReadiness } from "../parts/use-readiness.js";
import { LoopPicture } from "./loop-picture.js";
import { Measured } from "./measured.js";
import { RealRun } from "./real-run.js";
import { loopOf, someSteps } from "./rows.js";

const FIRST = { n: "512", k: "512", run: "" };
const MOST = 1_000_000;
const FIELDS = {
  n: { name: msg`Prompt tokens`, least: 1, most: MOST, first: 512 },
  k: { name: msg`New tokens`, least: 1, most: MOST, first: 512 },
};
const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, client, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const { values, problems } = useNumbers(texts, FIELDS);
  const readiness = useReadiness(client);
  const { n, k } = values;
  const loop = loopOf(n, k);
  const run = RUN_ID.test(texts.run) ? texts.run : known.run;
  const use = (prompt, added) => {
    put("n", String(prompt));
    put("k", String(added));
  };
  const field = (id, label) =>
    html`<${NumberField} id=${id} ...${FIELDS[id]} label=${label} text=${texts[id]} value=${values[id]} problem=${problems[id]} put=${(text) => put(id, text)} />`;
  return html`<${Frame}
    id="loop" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${msg`What does the generation loop compute with a KV cache, and what without?`}
    lead=${msg`A row is the vectors of one token in one step. Step 0 reads the prompt and chooses the first new token. Each later step feeds the newest token. The last token is chosen but never fed.`}
  >
    <div class="learn-fields grid">${field("n", msg`N, prompt tokens`)}${field("k", msg`K, new tokens`)}</div>
    <${Totals} n=${n} k=${k} loop=${loop} />
    <${LoopPicture} prompt=${n} added=${k} loop=${loop} />
    <div class="grid">
      <${Steps} n=${n} k=${k} />
      <${Measured} key=${run} id=${run} client=${client} ready=${readiness.state === "ready"} use=${use}>
        ${readiness.state === "ready" && html`<${RealRun} client=${client} model=${readiness.model} prompt=${n} added=${k} onRun=${(id) => put("run", id)} />`}
      <//>
      <${Misprints} n=${n} k=${k} />
    </div>
  <//>`;
}

function Totals({ n, k, loop }) {
  const [prompt, added, last] = [integer(n), integer(k), integer(k - 1)];
  return html`<section class="stack box" aria-label=${msg`Rows`} aria-live="polite">
    <p class="loop-big"><b class="number word-cached">${integer(loop.with)}</b> ${msg`rows with the cache,`} <b class="number word-computed">${integer(loop.without)}</b> ${msg`without:`} <b class="number">${times(loop.ratio)}</b> <${Badge} origin="computed" /></p>
    <p class="mono breaks">${msg`with: N + K − 1 = ${prompt} + ${added} − 1`}</p>
    <p class="mono breaks">${msg`without: N·K + K(K − 1) ÷ 2 = ${prompt} × ${added} + ${added} × ${last} ÷ 2`}</p>
    <p class="muted learn-say">${msg`${integer(loop.again)} rows are computed again with the same result. Rows are not time: a pass reads all weights once, whatever its number of rows. With the cache, attention still reads the K and V of all tokens so far in each step.`}</p>
  </section>`;
}

function Steps({ n, k }) {
  const steps = someSteps(n, k);
  const columns = [{ head: msg`step` }, { head: msg`with the cache` }, { head: msg`without` }];
  const rows = steps.flatMap(({ step, ...computed }, at) => [
    at > 0 && step - steps[at - 1].step > 1 && { key: "more", head: "…", cells: ["", ""] },
    {
      key: step,
      head: html`${integer(step)} ${step === 0 ? msg`(prefill)` : ""}`,
      cells: [integer(computed.with), integer(computed.without)],
    },
  ]);
  return html`<section class="own-card stack box" aria-label=${msg`Rows of each step`}>
    <h2>${msg`Rows of each step`}</h2>
    <${Table} name=${msg`Rows of each step`} scrolls=${false} columns=${columns} rows=${rows} />
  </section>`;
}

function Misprints({ n, k }) {
  return html`<section class="own-card stack box is-misprint" aria-label=${msg`Common wrong numbers`}>
    <h2>${msg`Common wrong numbers`}</h2>
    <${FigureLines} calculations=${loopFigures()} groups=${["loop"]} inputs=${{ n: String(n), k: String(k) }} />
  </section>`;
}
