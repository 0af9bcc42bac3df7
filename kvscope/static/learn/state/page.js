/** Where the state of this server lives, and what moving or losing it costs. */

import { html } from "htm/preact";
import { delay } from "../../shared/state/page-client.js";
import { useMeasured } from "../../shared/ui/use-measured.js";
import { msg } from "../../shared/words/msg.js";
import { Frame } from "../parts/frame.js";
import { NumberField } from "../parts/number-field.js";
import { useAddress } from "../parts/use-address.js";
import { useNumbers } from "../parts/use-numbers.js";
import { CostsTable } from "./costs-table.js";
import { measurePrefill } from "./measure-prefill.js";
import { OwnRun } from "./own-run.js";
import { Places } from "./places.js";
import { useServerState } from "./use-state.js";

const FIRST = { n: "1000", gbit: "10", run: "" };
const FIELDS = {
  n: { name: msg`Tokens of the run`, least: 1, most: 1_000_000, first: 1000 },
  gbit: { name: msg`Network speed in Gbit/s`, least: 1, most: 10_000, first: 10 },
};
const RUN_ID = /^[A-Za-z0-9_-]{1,64}$/;

/** @param {{known: Object, client: Object, theme: string, setTheme: Function}} props */
export function Page({ known, client, theme, setTheme }) {
  const [texts, put] = useAddress(FIRST);
  const { values, problems } = useNumbers(texts, FIELDS);
  const { state, problem, going, ask } = useServerState();
  const measuring = useMeasured(() => measurePrefill(client, delay).then(ask));
  const run = RUN_ID.test(texts.run) ? texts.run : known.run;
  const field = (id, label) =>
    html`<${NumberField} id=${id} ...${FIELDS[id]} label=${label} text=${texts[id]} value=${values[id]} problem=${problems[id]} put=${(text) => put(id, text)} />`;
  return html`<${Frame}
    id="state" beside=${known.beside} theme=${theme} setTheme=${setTheme}
    title=${msg`Where does this server keep its state, and what does losing it cost?`}
    lead=${msg`Three things make a run: weights, which every run shares; a KV cache, which only its own tokens have; and a log of what happened. They live in different places. Counts are totals of the whole server.`}
  >
    <p class="row own-tools"><button type="button" class="button" disabled=${going} onClick=${ask}>${going ? msg`Measuring…` : msg`Measure again`}</button></p>
    ${problem && html`<p class="own-wrong word-bad" role="alert">${problem}</p>`}
    ${
      state &&
      html`<${Places} state=${state} />
      <section class="own-card stack box" aria-label=${msg`Costs`}>
        <h2>${msg`What losing or moving it costs`}</h2>
        <div class="learn-fields grid">${field("n", msg`Tokens of a run`)}${field("gbit", msg`Network between two machines, Gbit/s`)}</div>
        <${CostsTable} state=${state} tokens=${values.n} gigabits=${values.gbit} measuring=${measuring} />
      </section>
      <div class="grid">
        <${OwnRun} id=${run} client=${client} positionBytes=${state.cache?.position_bytes ?? null} />
        <${Why} />
      </div>`
    }
  <//>`;
}

function Why() {
  return html`<section class="own-card stack box" aria-label=${msg`What follows`}>
    <h2>${msg`What follows for a service`}</h2>
    <ul class="stack tight">
      <li>${msg`A request that is sent again to another machine pays prefill again, unless its cache is sent too: it is on the first one.`}</li>
      <li>${msg`A load balancer that sends a conversation back to the same machine saves that prefill, if the cache is still there.`}</li>
      <li>${msg`Stopping a machine loses the caches of its open runs, as nothing here sends them elsewhere. Their logs survive it.`}</li>
      <li>${msg`A new machine is useful only after it has loaded the weights.`}</li>
    </ul>
  </section>`;
}
