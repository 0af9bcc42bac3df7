/** The page of serving: what is asked, and the engine answering it, pass by pass. */

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { ShareAddress } from "../../embed/share-address.js";
import { Later } from "../../turns/later.js";
import { createTurns } from "../../turns/turns.js";
import { ModelPill } from "../../ui/model-pill.js";
import { OwnHeader } from "../../ui/own-header.js";
import { Glossary } from "../../words/term.js";
import { useGlossary } from "../../words/use-glossary.js";
import { Ask } from "./ask.js";
import { Empty } from "./empty.js";
import { Experiments } from "./experiments.js";
import { Notices } from "./notices.js";
import { usePlayer } from "./use-player.js";
import { useServing } from "./use-serving.js";
import { Watched } from "./watched.js";

const PRINTS = [{ name: "Print", sheet: "serving" }];

/** Without news of its own it is a queue: one thing in each frame. */
const WITHOUT_NEWS = { state: () => null, subscribe: () => () => {} };

/** @returns {(job: () => void) => () => void} what is left to a later frame, one thing in each */
function useQueue() {
  const turns = useMemo(
    () =>
      createTurns({
        store: WITHOUT_NEWS,
        onShown() {},
        clock: {
          requestFrame: window.requestAnimationFrame.bind(window),
          cancelFrame: window.cancelAnimationFrame.bind(window),
          now: () => performance.now(),
        },
      }),
    [],
  );
  useEffect(() => turns.stop, [turns]);
  return turns.later;
}

/** @param {{client: Object, limits: Object, hearWaits: Function, framed: boolean, theme: string, setTheme: Function}} props */
export function Page(props) {
  return html`<${Later.Provider} value=${useQueue()}><${Defined} ...${props} /><//>`;
}

function Defined(props) {
  return html`<${Glossary.Provider} value=${useGlossary(props.client)}><${Serving} ...${props} /><//>`;
}

function Serving({ client, limits, hearWaits, framed, theme, setTheme }) {
  const state = useServing({ client, limits, hearWaits, framed });
  const { run, log } = state;
  const playing = usePlayer(log, framed);
  const address = run ? `?run=${run}${playing.player.mode === "following" ? "" : `#pass=${playing.shown}`}` : "";
  return html`
    ${
      !framed &&
      html`<${OwnHeader} here="serving" theme=${theme} setTheme=${setTheme}>
        <${ModelPill} readiness=${state.readiness} model=${log?.open?.model} />
      <//>`
    }
    <main class="own-page serving">
      ${!framed && html`<${Ask} state=${state} limits=${limits} live=${playing.live} />`}
      <div class="own-heading">
        <h1>Several people ask at once. Each pass of the model serves all of them. Memory is handed out in blocks of 16 tokens.</h1>
        <div class="own-tools">
          ${framed && html`<a class="plain-button" target="_blank" rel="noopener" href=${`/serving${address}`}>Open in KVScope</a>`}
          ${
            !framed &&
            run &&
            html`<${ShareAddress} path=${`/serving${address}`} title="Several people ask at once" prints=${PRINTS}
              say="The link opens this run at this pass, for as long as this server keeps it." />`
          }
        </div>
      </div>
      <${Notices} state=${state} />
      <div class=${log?.passes.length ? "serving-grid" : "serving-grid is-empty"}>
        ${log?.passes.length ? html`<${Watched} key=${log.id} watched=${state.watched} playing=${playing} state=${state} limits=${limits} framed=${framed} />` : html`<${Empty} state=${state} framed=${framed} />`}
        <${Experiments} client=${client} state=${state} live=${playing.live} framed=${framed} />
      </div>
    </main>
  `;
}
