/** The page of serving: what is asked, and the engine answering it, pass by pass. */

import { html } from "htm/preact";
import { useEffect, useMemo } from "preact/hooks";
import { OpenFile } from "../../shared/files/open-file.js";
import { Later } from "../../shared/turns/later.js";
import { createTurns } from "../../shared/turns/turns.js";
import { ModelOfRun, ModelPill } from "../../shared/ui/model-pill.js";
import { OwnHeader } from "../../shared/ui/own-header.js";
import { Glossary } from "../../shared/words/term.js";
import { useGlossary } from "../../shared/words/use-glossary.js";
import { Ask } from "./ask.js";
import { Empty, Recorded } from "./empty.js";
import { Experiments } from "./experiments.js";
import { Heading } from "./heading.js";
import { Notices } from "./notices.js";
import { usePlayer } from "./use-player.js";
import { useServing } from "./use-serving.js";
import { Watched } from "./watched.js";

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

/**
 * @param {{client: Object, limits: Object, hearWaits: Function, framed: boolean, saved: Object|null, example: string|null, theme: string,
 *   setTheme: Function}} props `saved`: the session in sight, of `/s/<id>` or in a file; `example`: a recorded one
 */
export function Page(props) {
  return html`<${Later.Provider} value=${useQueue()}><${Defined} ...${props} /><//>`;
}

function Defined(props) {
  return html`<${Glossary.Provider} value=${useGlossary(props.client)}><${Serving} ...${props} /><//>`;
}

function Serving({ client, limits, hearWaits, framed, saved, example, theme, setTheme }) {
  const state = useServing({ client, limits, hearWaits, framed, saved, example });
  const { run, log } = state;
  const inFile = saved?.file === true;
  /** Nothing can be started: another page's guest, or a copy that stays as it is. */
  const only = framed || saved !== null;
  const playing = usePlayer(log, {
    framed,
    saved,
    plays: !run,
    leaving: Boolean(run && !saved && log && log.id !== run),
  });
  return html`
    ${
      !framed &&
      html`<${OwnHeader} here=${saved ? null : "serving"} theme=${theme} setTheme=${setTheme} alone=${inFile}
        openers=${!inFile && html`<div class="openers line wide"><${OpenFile} client=${client} limit=${limits.file_bytes} /></div>`}>
        ${saved ? html`<${ModelOfRun} run=${log} />` : html`<${ModelPill} readiness=${state.readiness} model=${log?.open?.model} />`}
      <//>`
    }
    <main class="own-page stack wide serving">
      ${!only && html`<${Ask} state=${state} limits=${limits} live=${playing.live} />`}
      <${Heading} state=${state} playing=${playing} client=${client} limits=${limits} framed=${framed} saved=${saved} />
      <${Notices} state=${state} />
      ${!run && !framed && log?.passes.length > 0 && html`<${Recorded} state=${state} />`}
      <div class=${log?.passes.length ? "serving-grid" : "serving-grid is-empty"}>
        ${log?.passes.length ? html`<${Watched} key=${log.id} watched=${state.watched} playing=${playing} state=${state} limits=${limits} framed=${only} />` : html`<${Empty} state=${state} framed=${only} />`}
        <${Experiments} client=${client} state=${state} live=${playing.live} framed=${only} />
      </div>
    </main>
  `;
}
