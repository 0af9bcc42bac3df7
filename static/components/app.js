/** The whole page: header, messages, prompt, timeline, and the five regions of the stage. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { isWide } from "../model/views.js";
import { Header } from "./header.js";
import { Help } from "./help.js";
import { Theme, usePageTheme } from "./hooks.js";
import { Inspector } from "./inspector.js";
import { KvCache } from "./kv-cache.js";
import { LookHere } from "./look-here.js";
import { Map } from "./map.js";
import { Messages } from "./messages.js";
import { NextToken } from "./next-token.js";
import { PanelSaver } from "./panel-saver.js";
import { PromptBar } from "./prompt-bar.js";
import { ShareDialog } from "./share/share-dialog.js";
import { Calm } from "./still.js";
import { Tabs } from "./tabs.js";
import { Glossary } from "./term.js";
import { Time } from "./time.js";
import { Timeline } from "./timeline.js";
import { useGlossary } from "./use-glossary.js";

/** However fast frames arrive, the page is rendered once per animation frame. @returns {() => void} stops it */
function showOncePerFrame(store, show) {
  let frame = 0;
  const onFrame = () => {
    frame = 0;
    show(store.state());
  };
  const unsubscribe = store.subscribe(() => {
    frame ||= requestAnimationFrame(onFrame);
  });
  show(store.state());
  return () => {
    unsubscribe();
    cancelAnimationFrame(frame);
  };
}

const PANELS = [
  { id: "map", tab: "Map" },
  { id: "inspector", tab: "Inspector" },
  { id: "next-token", tab: "Next token" },
  { id: "kv-cache", tab: "Cache" },
  { id: "time", tab: "Time" },
];

/** @param {{onShown: (state: Object) => void}} props `onShown` is told each state once the page shows it */
export function App({ store, session, client, onShown }) {
  const [state, setState] = useState(store.state());
  const stage = useRef(null);
  useEffect(() => showOncePerFrame(store, setState), [store]);
  useLayoutEffect(() => onShown(state), [state, onShown]);
  const glossary = useGlossary(client);
  const theme = usePageTheme(state.theme);
  const { dispatch } = store;
  const parts = { state, dispatch, session, client };
  const help = useMemo(() => html`<${Help} />`, []);
  const saver = (panel) => html`<${Calm} of=${PanelSaver} panel=${panel} ...${parts} />`;

  return html`<${Glossary.Provider} value=${glossary}><${Theme.Provider} value=${theme}>
    <div class="page">
      <${Calm} of=${Header} ...${parts} />
      <${Calm} of=${Messages} ...${parts} />
      ${!state.file && html`<${Calm} of=${PromptBar} ...${parts} />`}
      <${Calm} of=${Timeline} ...${parts} />
      <${Tabs} panels=${PANELS} stage=${stage} view=${state.selection.view} />
      <main class="stage" data-wide=${isWide(state.selection.view)} ref=${stage}>
        <div class="panel panel-map" id="panel-map">
          <${Calm} of=${LookHere} ...${parts} />
          <${Map} ...${parts} />
          ${saver("Model map")}
        </div>
        <div class="panel panel-inspector" id="panel-inspector"><${Calm} of=${Inspector} ...${parts} />${saver("Inspector")}</div>
        <div class="strip">
          <div class="panel panel-next-token" id="panel-next-token"><${Calm} of=${NextToken} ...${parts} />${saver("Next token")}</div>
          <div class="panel panel-kv-cache" id="panel-kv-cache"><${Calm} of=${KvCache} ...${parts} />${saver("KV cache")}</div>
          <div class="panel panel-time" id="panel-time"><${Calm} of=${Time} ...${parts} />${saver("Time")}</div>
        </div>
      </main>
      ${help}
      ${!state.file && html`<${Calm} of=${ShareDialog} ...${parts} />`}
    </div>
  <//><//>`;
}
