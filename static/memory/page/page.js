/** The memory calculator: what a model's cache and weights take, on which GPUs they fit, and how fast it could be. */

import { html } from "htm/preact";
import { ShareAddress } from "../../embed/share-address.js";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { under } from "../../shared/log/root.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { useMeasured } from "../../shared/ui/use-measured.js";
import { cacheBytesPerToken } from "../sizes.js";
import { Bytes, Fits, Speed } from "./cards.js";
import { Lengths } from "./length-cards.js";
import { measure } from "./measure.js";
import { Heads, Printed, Sources } from "./more-cards.js";
import { Paste } from "./paste.js";
import { Roofline } from "./roofline-card.js";
import { Sentence } from "./sentence.js";
import { Sliders } from "./sliders.js";
import { useCalculator } from "./use-calculator.js";
import { useRun } from "./use-run.js";
import { Verdict } from "./verdict.js";

const PRINTS = [{ name: "Print", sheet: "figures" }];

/**
 * @param {{known: {models: Object[], gpus: Object[], session: string|null}, framed: boolean, identity: () => Object,
 *   theme: string, setTheme: Function}} props
 */
export function Page({ known, framed, identity, theme, setTheme }) {
  const { texts, understood, problem, pasted, run, session, search, actions } = useCalculator({
    known,
    window,
    framed,
  });
  const shown = useRun({ run, session: run ? null : (session ?? known.session) });
  const measuring = useMeasured(() => measure(identity()));
  const { model, inputs } = understood;
  const gpuName = inputs.gpu.name.replace("NVIDIA ", "");
  const of = { understood, gpuName };
  return html`
    ${!framed && html`<${OwnHeader} here="memory" theme=${theme} setTheme=${setTheme} />`}
    <main class="own-page stack wide memory">
      <div class="own-heading row between">
        <h1>Every token leaves its keys and values in memory. What fits?</h1>
        <div class="own-tools row">
          <button type="button" class="button" disabled=${search === ""} onClick=${actions.reset}>Reset</button>
          ${
            framed
              ? html`<a class="button" target="_blank" rel="noopener" href=${under(`/memory${search}`)}>Open in KVScope</a>`
              : html`<${ShareAddress}
            path=${`/memory${search}`} title="Memory of a KV cache" prints=${PRINTS}
            say="All that was chosen is in the address: nothing is stored."
          />`
          }
        </div>
      </div>
      <${Sentence} texts=${texts} known=${known} modelName=${model.name} problem=${problem} actions=${actions} />
      <${Verdict} ...${of} />
      <${Sliders} inputs=${inputs} put=${actions.put} />
      <p class="memory-stage">Blue is K and V, <a href=${under(run ? `/?run=${run}` : "/")} target=${framed ? "_blank" : null}>the same vectors as on the Stage</a>: each token adds <b class="number is-cache">${bytesShort(cacheBytesPerToken(model, inputs.cache).value)}</b>, from ${integer(model.layers)} layers.</p>
      <${Paste} pasted=${pasted} config=${texts.config} understood=${understood} paste=${actions.paste} />
      <div class="grid"><${Bytes} ...${of} /><${Fits} ...${of} /><${Speed} ...${of} /></div>
      <${Roofline} ...${of} run=${shown} measuring=${measuring} framed=${framed} theme=${theme} />
      <${Lengths} understood=${understood} run=${shown} theme=${theme} />
      <div class="grid"><${Heads} ...${of} /><${Printed} models=${known.models} /><${Sources} model=${model} gpu=${inputs.gpu} pasted=${texts.config !== ""} /></div>
    </main>
  `;
}
