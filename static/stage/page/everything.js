/** All of the page but the intro: header, messages, prompt, timeline, and the five regions of the stage. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { EmbedHeader, SkipToEnd, SkipToStart } from "../../embed/header.js";
import { useFrameHeight } from "../../embed/use-frame-height.js";
import { WheelHint } from "../../embed/wheel-hint.js";
import { ShareDialog } from "../../shared/share/share-dialog.js";
import { isWide, PANEL_NAMES } from "../../shared/state/views.js";
import { Turn, useChoice } from "../../shared/turns/turn.js";
import { Inspector } from "../inspector/inspector.js";
import { KvCache } from "../kv-cache/kv-cache.js";
import { Shelf } from "../kv-cache/shelf.js";
import { LookHere } from "../look-here/look-here.js";
import { ModelMap } from "../map/map.js";
import { LayersToGo, NextToken } from "../next-token/next-token.js";
import { OwnPrompt } from "../prompt/own-prompt.js";
import { PanelSaver } from "../save-panel/panel-saver.js";
import { Time } from "../time/time.js";
import { StepsBar } from "../timeline/steps-bar.js";
import { Timeline } from "../timeline/timeline.js";
import { Header } from "./header.js";
import { Messages } from "./messages.js";
import { Tabs } from "./tabs.js";

const PANELS = [
  { id: "map", tab: "Map" },
  { id: "inspector", tab: "Inspector" },
  { id: "next-token", tab: PANEL_NAMES.tokens },
  { id: "kv-cache", tab: PANEL_NAMES.cache },
  { id: "time", tab: PANEL_NAMES.time },
];

/** It has no state of its own, so it is rendered once: each part of the page is rendered again by itself. Props as `App`. */
export function Everything({ turns, embed, host, opens, ...parts }) {
  const stage = useRef(null);
  // Whether the page is a file does not change.
  const { file } = turns.state();
  const saver = (panel) => html`<${Turn} of=${PanelSaver} turn="rest" turns=${turns} panel=${panel} ...${parts} />`;
  /** A part of a part that the clock moves in every frame. */
  const moving = (part, turn) => html`<${Turn} of=${part} turn=${turn} turns=${turns} moving ...${parts} />`;
  useFrameHeight(stage, host);

  // What is typed stands with the first: a field that comes when all else has been shown misses letters.
  return html`
      ${embed && html`<${SkipToEnd} />`}
      <${Turn} of=${embed ? EmbedHeader : Header} turn="rest" turns=${turns} ...${parts} />
      <${Turn} of=${Messages} turn="rest" turns=${turns} ...${parts} />
      ${!embed && !file && html`<${Turn} of=${OwnPrompt} turn="map" turns=${turns} ...${parts} />`}
      <${Turn} of=${Timeline} turn="timeline" turns=${turns} stepsBar=${moving(StepsBar, "timeline")} ...${parts} />
      <${ViewTabs} turns=${turns} stage=${stage} opens=${opens} />
      <${Stage} turns=${turns} element=${stage}>
        <div class="panel panel-map" id="panel-map">
          <${Turn} of=${LookHere} turn="rest" turns=${turns} ...${parts} />
          <${Turn} of=${ModelMap} turn="map" turns=${turns} moving ...${parts} />
          ${saver("Model map")}
        </div>
        <div class="panel panel-inspector" id="panel-inspector"><${Turn} of=${Inspector} turn="inspector" turns=${turns} ...${parts} />${saver("Inspector")}</div>
        <div class="strip">
          <div class="panel panel-next-token" id="panel-next-token"><${Turn} of=${NextToken} turn="nextToken" turns=${turns} layersToGo=${moving(LayersToGo, "nextToken")} ...${parts} />${saver("Next token")}</div>
          <div class="panel panel-kv-cache" id="panel-kv-cache"><${Turn} of=${KvCache} turn="kvCache" turns=${turns} shelf=${moving(Shelf, "kvCache")} ...${parts} />${saver("KV cache")}</div>
          <div class="panel panel-time" id="panel-time"><${Turn} of=${Time} turn="time" turns=${turns} ...${parts} />${saver("Time")}</div>
        </div>
      <//>
      ${embed && html`<${WheelHint} /><${SkipToStart} />`}
      ${!embed && !file && html`<${Turn} of=${ShareDialog} turn="rest" turns=${turns} ...${parts} />`}
  `;
}

function ViewTabs({ turns, ...props }) {
  return html`<${Tabs} panels=${PANELS} view=${useChoice(turns, "map", viewOf)} ...${props} />`;
}

/** A wide view leaves the map a rail. */
function Stage({ turns, element, children }) {
  const view = useChoice(turns, "map", viewOf);
  return html`<main class="stage" data-wide=${isWide(view)} ref=${element}>${children}</main>`;
}

const viewOf = ({ selection }) => selection.view;
