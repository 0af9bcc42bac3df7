/** The page of serving: the form of a workload, and the engine that serves it, pass by pass. */

import { html } from "htm/preact";
import { OpenFile } from "../../shared/files/open-file.js";
import { IN_SITE } from "../../shared/log/root.js";
import { Later } from "../../shared/painting/later.js";
import { Part, Store } from "../../shared/painting/part.js";
import { ModelOfRun, ModelPill } from "../../shared/ui/model-pill.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { Glossary } from "../../shared/words/term.js";
import { useGlossary } from "../../shared/words/use-glossary.js";
import { KEYS } from "../keys.js";
import { isLive, shownPass } from "../state.js";
import { Empty, Recorded } from "./empty.js";
import { Experiments } from "./experiments.js";
import { Heading } from "./heading.js";
import { Notices } from "./notices.js";
import { useResultOf } from "./use-result.js";
import { useServing } from "./use-serving.js";
import { Watched } from "./watched.js";
import { WorkloadForm } from "./workload-form.js";

/**
 * @param {{store: Object, later: Function, controller: Object, client: Object, limits: Object, framed: boolean, saved: Object|null,
 *   gpus: Object[], theme: string, setTheme: Function}} props `saved`: the session in sight, of `/s/<id>` or in a file; `gpus`: empty in a file
 */
export function Page({ store, later, ...props }) {
  return html`<${Store.Provider} value=${store}><${Later.Provider} value=${later}><${Defined} dispatch=${store.dispatch} ...${props} /><//><//>`;
}

function Defined(props) {
  return html`<${Glossary.Provider} value=${useGlossary(props.client)}><${Part} of=${Serving} ...${props} /><//>`;
}

function Serving({ state: seen, dispatch, controller, client, limits, framed, saved, gpus, theme, setTheme }) {
  const { run, log } = seen;
  const state = { ...seen, ...useServing({ state: seen, client, limits, show: controller.show }) };
  const result = useResultOf(log);
  const playing = { shown: shownPass(seen), live: isLive(seen), dispatch };
  const inFile = saved?.file === true;
  /** Nothing can be started: the page is embedded, or shows a saved session. */
  const only = framed || saved !== null;
  return html`
    ${
      !framed &&
      html`<${OwnHeader} here=${saved ? null : "serving"} theme=${theme} setTheme=${setTheme} alone=${inFile} keys=${KEYS}
        openers=${!inFile && !IN_SITE && html`<div class="openers line wide"><${OpenFile} client=${client} limit=${limits.file_bytes} /></div>`}>
        ${saved ? html`<${ModelOfRun} run=${log} />` : html`<${ModelPill} readiness=${state.readiness} model=${log?.open?.model} />`}
      <//>`
    }
    <main class="own-page stack wide serving">
      ${!only && html`<${WorkloadForm} state=${state} limits=${limits} live=${playing.live} />`}
      <${Heading} state=${state} playing=${playing} client=${client} limits=${limits} framed=${framed} saved=${saved} />
      <${Notices} state=${state} />
      ${!run && !framed && log?.passes.length > 0 && html`<${Recorded} state=${state} />`}
      <div class=${log?.passes.length ? "serving-grid" : "serving-grid is-empty"}>
        ${log?.passes.length ? html`<${Watched} key=${log.id} playing=${playing} state=${state} result=${result} limits=${limits} gpus=${gpus} framed=${only} />` : html`<${Empty} state=${state} framed=${only} />`}
        <${Experiments} client=${client} limits=${limits} state=${state} seen=${result} live=${playing.live} framed=${only} dispatch=${dispatch} />
      </div>
    </main>
  `;
}
