/** The memory calculator: the memory of a model's cache and weights, whether it fits on the GPUs, and the best possible speed. */

import { html } from "htm/preact";
import { ShareAddress } from "../../embed/share-address.js";
import { bytesShort, integer } from "../../shared/facts/format.js";
import { under } from "../../shared/log/root.js";
import { cacheBytesPerToken } from "../../shared/sizes/sizes.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { useMeasured } from "../../shared/ui/use-measured.js";
import { Theme, usePageTheme } from "../../shared/ui/use-theme.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Bytes, Fits, Speed } from "./cards.js";
import { Lengths } from "./length-cards.js";
import { measure } from "./measure.js";
import { Heads, Misprints, Sources } from "./more-cards.js";
import { Paste } from "./paste.js";
import { Roofline } from "./roofline-card.js";
import { Sentence } from "./sentence.js";
import { Sliders } from "./sliders.js";
import { useCalculator } from "./use-calculator.js";
import { useRun } from "./use-run.js";
import { Verdict } from "./verdict.js";

const PRINTS = [{ name: msg`Print`, sheet: "figures" }];

/**
 * @param {{known: {models: Object[], gpus: Object[], session: string|null}, framed: boolean, identity: () => Object,
 *   theme: string, setTheme: Function}} props
 */
export function Page({ known, framed, identity, theme, setTheme }) {
  const { texts, setup, problem, pasted, run, session, search, actions } = useCalculator({
    known,
    window,
    framed,
  });
  const shown = useRun({ run, session: run ? null : (session ?? known.session) });
  const measuring = useMeasured(() => measure(identity()));
  const { model, inputs } = setup;
  const gpuName = inputs.gpu.name.replace("NVIDIA ", "");
  const of = { setup, gpuName };
  const layers = integer(model.layers);
  const perToken = html`<b class="number is-cache">${bytesShort(cacheBytesPerToken(model, inputs.cache).value)}</b>`;
  const stage = html`<a href=${under(run ? `/?run=${run}` : "/")} target=${framed ? "_blank" : null}>${msg`the same vectors as on the Stage`}</a>`;
  return html`<${Theme.Provider} value=${usePageTheme(theme)}>
    ${!framed && html`<${OwnHeader} here="memory" theme=${theme} setTheme=${setTheme} />`}
    <main class="own-page stack wide memory">
      <div class="own-heading row between">
        <h1>${msg`The KV cache stores keys and values (K and V) for every token. How many tokens fit?`}</h1>
        <div class="own-tools row">
          <button type="button" class="button" disabled=${search === ""} onClick=${actions.reset}>${msg`Reset`}</button>
          ${
            framed
              ? html`<a class="button" target="_blank" rel="noopener" href=${under(`/memory${search}`)}>${msg`Open in KVScope`}</a>`
              : html`<${ShareAddress}
            path=${`/memory${search}`} title=${msg`Memory of a KV cache`} prints=${PRINTS}
            say=${msg`The address holds all inputs. The server stores nothing.`}
          />`
          }
        </div>
      </div>
      <${Sentence} texts=${texts} known=${known} setup=${setup} problem=${problem} actions=${actions} />
      <${Verdict} ...${of} />
      <${Sliders} inputs=${inputs} put=${actions.put} />
      <p class="memory-stage">${nodes`Blue is K and V, ${stage}. Each token adds ${perToken} in all ${layers} layers together.`}</p>
      <${Paste} pasted=${pasted} config=${texts.config} setup=${setup} paste=${actions.paste} />
      <div class="grid"><${Bytes} ...${of} /><${Fits} ...${of} /><${Speed} ...${of} /></div>
      <${Roofline} ...${of} run=${shown} measuring=${measuring} framed=${framed} />
      <${Lengths} setup=${setup} run=${shown} />
      <div class="grid"><${Heads} ...${of} /><${Misprints} models=${known.models} framed=${framed} /><${Sources} model=${model} gpu=${inputs.gpu} pasted=${texts.config !== ""} /></div>
    </main>
  <//>`;
}
