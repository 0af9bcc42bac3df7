/** The whole page: header, messages, prompt, timeline, and the five regions of the stage. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { isWide } from "../model/views.js";
import { EmbedHeader, SkipToEnd, SkipToStart } from "./embed/embed-header.js";
import { useFrameHeight } from "./embed/use-frame-height.js";
import { WheelHint } from "./embed/wheel-hint.js";
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
import { Tabs } from "./tabs.js";
import { Glossary } from "./term.js";
import { Time } from "./time.js";
import { Timeline } from "./timeline.js";
import { Later, Turn } from "./turn.js";
import { useGlossary } from "./use-glossary.js";

const PANELS = [
  { id: "map", tab: "Map" },
  { id: "inspector", tab: "Inspector" },
  { id: "next-token", tab: "Next token" },
  { id: "kv-cache", tab: "Cache" },
  { id: "time", tab: "Time" },
];

/**
 * @param {Object} props
 * @param {Object} props.turns as `createTurns` gives them
 * @param {Object|null} props.embed of the store, for a page inside another one; it stays what it is
 * @param {Object|null} props.host the page around, as `createEmbedHost` gives it
 */
export function App({ turns, embed = null, host = null, ...parts }) {
  const stage = useRef(null);
  const glossary = useGlossary(parts.client);
  // Whether the page is a file does not change.
  const { file } = turns.state();
  const { theme, view } = useFrame(turns);
  const colours = usePageTheme(theme);
  const saver = (panel) => html`<${Turn} of=${PanelSaver} turn="rest" turns=${turns} panel=${panel} ...${parts} />`;
  useFrameHeight(stage, host);

  return html`<${Later.Provider} value=${turns.later}><${Glossary.Provider} value=${glossary}><${Theme.Provider} value=${colours}>
    <div class="page">
      ${embed && html`<${SkipToEnd} />`}
      <${Turn} of=${embed ? EmbedHeader : Header} turn="rest" turns=${turns} ...${parts} />
      <${Turn} of=${Messages} turn="rest" turns=${turns} ...${parts} />
      ${!embed && !file && html`<${Turn} of=${PromptBar} turn="rest" turns=${turns} ...${parts} />`}
      <${Turn} of=${Timeline} turn="timeline" turns=${turns} ...${parts} />
      <${Tabs} panels=${PANELS} stage=${stage} view=${view} opens=${embed?.opens} />
      <main class="stage" data-wide=${isWide(view)} ref=${stage}>
        <div class="panel panel-map" id="panel-map">
          <${Turn} of=${LookHere} turn="rest" turns=${turns} ...${parts} />
          <${Turn} of=${Map} turn="map" turns=${turns} moving ...${parts} />
          ${saver("Model map")}
        </div>
        <div class="panel panel-inspector" id="panel-inspector"><${Turn} of=${Inspector} turn="inspector" turns=${turns} ...${parts} />${saver("Inspector")}</div>
        <div class="strip">
          <div class="panel panel-next-token" id="panel-next-token"><${Turn} of=${NextToken} turn="nextToken" turns=${turns} ...${parts} />${saver("Next token")}</div>
          <div class="panel panel-kv-cache" id="panel-kv-cache"><${Turn} of=${KvCache} turn="kvCache" turns=${turns} ...${parts} />${saver("KV cache")}</div>
          <div class="panel panel-time" id="panel-time"><${Turn} of=${Time} turn="time" turns=${turns} ...${parts} />${saver("Time")}</div>
        </div>
      </main>
      <${Help} />
      ${embed && html`<${WheelHint} /><${SkipToStart} />`}
      ${!embed && !file && html`<${Turn} of=${ShareDialog} turn="rest" turns=${turns} ...${parts} />`}
    </div>
  <//><//><//>`;
}

/** What decides how the page as a whole looks. It changes seldom, and with the map. */
function useFrame(turns) {
  const of = ({ theme, selection }) => ({ theme, view: selection.view });
  const [frame, setFrame] = useState(() => of(turns.state()));
  useLayoutEffect(
    () =>
      turns.join("map", (state) => {
        const { theme, view } = of(state);
        setFrame((old) => (old.theme === theme && old.view === view ? old : { theme, view }));
      }),
    [turns],
  );
  return frame;
}

