/** View "cache": why K and V are cached, the operations of one step, and the memory of the cache. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { integer, quoted } from "../../../shared/facts/format.js";
import { lacking } from "../../../shared/facts/lacking.js";
import { isInherited, stepRows } from "../../../shared/facts/step-rows.js";
import { useConnected, useTwin } from "../../../shared/loading/use-twin.js";
import { Fetched } from "../../../shared/ui/fetched.js";
import { form, msg, plural } from "../../../shared/words/msg.js";
import { useEnded } from "../use-ended.js";
import { Forgotten } from "./forgotten.js";
import { MemoryPart } from "./memory-part.js";
import { StepAlgebra } from "./step-algebra.js";
import { WhatIf } from "./what-if.js";
import { WhyCache } from "./why-cache.js";

const PARTS = [
  { id: "why", title: msg`Why cache K and V`, needs: ["engine"] },
  { id: "step", title: msg`One step, operation by operation`, needs: ["engine"] },
  { id: "memory", title: msg`The memory it takes` },
  { id: "kept", title: msg`Keep only some positions`, needs: ["engine"] },
];

const KEPT = async () => (await import("./kept/kept-part.js")).KeptPart;

export function CacheView(props) {
  return html`<${Sheet} key=${props.state.run.id} ...${props} />`;
}

function Sheet({ state, focus, dispatch, client, controller }) {
  const { run, step } = state;
  const ready = state.readiness.state === "ready";
  const recorded = state.examples.some(({ id }) => id === run.id);
  const connected = useConnected(client, run);
  const none = useTwin({ client, run, connected, cache: "none" });
  const forgotten = useTwin({ client, run, connected, cache: "forgotten" });
  useEnded(dispatch, { run: run.id, experiment: "none", log: none.log });
  useEnded(dispatch, { run: run.id, experiment: "forgotten", log: forgotten.log });
  const sheet = useRef(null);
  const jump = (id) => sheet.current.querySelector(`#cache-${id}`).scrollIntoView({ block: "start" });
  const part = (id, content) => {
    const { title, needs } = PARTS.find((one) => one.id === id);
    const lacks = lacking(run, needs);
    return html`<section class="sheet-part" id=${`cache-${id}`} data-names=${`cache-${id}`} aria-label=${title}><h3>${title}</h3>${lacks ? html`<p class="sheet-say muted">${lacks}</p>` : content}</section>`;
  };
  return html`<div class="sheet scrolls grow" ref=${sheet}>
    <div class="row on-line wide between">
      <h2>${headline(run, step)}</h2>
      <nav class="row" aria-label=${msg`Parts`}>
        ${PARTS.map(({ id, title }) => html`<button class="button small" type="button" key=${id} onClick=${() => jump(id)}>${title}</button>`)}
      </nav>
    </div>
    ${part(
      "why",
      html`<${WhyCache}
          run=${run} step=${step} twin=${none} ready=${ready} starting=${state.opening} recorded=${recorded} dispatch=${dispatch} controller=${controller}
          client=${client}
        />
        <h4 data-names="cache-cleared">${msg`What if the cache is cleared between steps?`}</h4>
        <${Forgotten} run=${run} twin=${forgotten} ready=${ready} dispatch=${dispatch} />`,
    )}
    ${part(
      "step",
      html`<${StepAlgebra} state=${state} focus=${focus} client=${client} dispatch=${dispatch} />
          <${WhatIf} key=${step} state=${state} focus=${focus} ready=${ready} client=${client} />`,
    )}
    ${part("memory", html`<${MemoryPart} run=${run} step=${step} ready=${ready} client=${client} dispatch=${dispatch} />`)}
    ${
      !run.open.study &&
      part(
        "kept",
        html`<${Fetched} of=${KEPT} waits=${msg`Loading…`} run=${run} step=${step} selection=${state.selection} ready=${ready} client=${client} dispatch=${dispatch} />`,
      )
    }
  </div>`;
}

function headline(run, step) {
  const { rows, firstQuery } = run.steps[step];
  const computed = integer(rows);
  if (isInherited(run, step))
    return msg`Step ${step} belongs to the run that this one branched from: K and V of its ${integer(stepRows(run, step).read)} positions are in the cache`;
  if (step === 0 && run.reused)
    return msg`Prefill: ${integer(run.reused)} rows come from the cache, ${computed} are computed and cached`;
  if (step === 0)
    return plural(
      rows,
      form`Prefill writes K and V of ${computed} token into the cache`,
      form`Prefill writes K and V of ${computed} tokens into the cache`,
    );
  const cached = integer(firstQuery);
  if (rows > 1) return msg`Step ${step} computes ${computed} rows and reads ${cached} from the cache`;
  const token = quoted(run.tokens[firstQuery]);
  return plural(
    firstQuery,
    form`In step ${step}, only ${token} goes through the model; ${cached} earlier token is cached`,
    form`In step ${step}, only ${token} goes through the model; ${cached} earlier tokens are cached`,
  );
}
