/** The page without the intro: header, messages, prompt, timeline, and the five regions of the stage. */

import { html } from "htm/preact";
import { useContext, useRef } from "preact/hooks";
import { Part, Store, useChoice } from "../../shared/painting/part.js";
import { isWide, PANEL_NAMES } from "../../shared/state/views.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";
import { MapPlace } from "../changes/map-place.js";
import { ChangesPlace } from "../changes/panel-place.js";
import { EmbedHeader, SkipToEnd, SkipToStart } from "../embed/header.js";
import { useFrameHeight } from "../embed/use-frame-height.js";
import { Inspector } from "../inspector/inspector.js";
import { KvCache, Written } from "../kv-cache/kv-cache.js";
import { Shelf } from "../kv-cache/shelf.js";
import { LookHere } from "../look-here/look-here.js";
import { LayersToGo, NextToken } from "../next-token/next-token.js";
import { OwnPrompt } from "../prompt/own-prompt.js";
import { PanelSaver } from "../save-panel/panel-saver.js";
import { Time } from "../time/time.js";
import { StepsBar } from "../timeline/steps-bar.js";
import { Timeline } from "../timeline/timeline.js";
import { CodeDock } from "./code-dock.js";
import { Header } from "./header.js";
import { Messages } from "./messages.js";
import { Tabs } from "./tabs.js";

const PANELS = [
  { id: "map", tab: msg`Map` },
  { id: "inspector", tab: msg`Inspector` },
  { id: "next-token", tab: PANEL_NAMES.tokens, view: "tokens" },
  { id: "kv-cache", tab: PANEL_NAMES.cache, view: "cache" },
  { id: "time", tab: PANEL_NAMES.time, view: "time" },
];

/** It has no state, so it is rendered once; each part of the page renders itself again. Props as `App`. */
export function Everything({ embed, host, opens, ...parts }) {
  const stage = useRef(null);
  // Whether the page is a file does not change.
  const { file } = useContext(Store).state();
  const starts = !embed && !file;
  const part = (Shown, how = {}) => html`<${Part} of=${Shown} ...${how} ...${parts} />`;
  const saver = (panel) => part(PanelSaver, { panel });
  /** A part inside another that is rendered in every animation frame, maybe with a newer state than the part around it. */
  const moving = (Shown) => part(Shown, { moving: true });
  useFrameHeight(stage, host);

  // The prompt is urgent: a field that is rendered after everything else would miss typed letters.
  return html`
      ${embed && html`<${SkipToEnd} />`}
      ${part(embed ? EmbedHeader : Header)}
      ${part(Messages)}
      ${starts && part(OwnPrompt, { urgent: true })}
      ${part(Timeline, { stepsBar: moving(StepsBar) })}
      <${ViewTabs} stage=${stage} opens=${opens} dispatch=${parts.dispatch} />
      <${Stage} element=${stage}>
        <div class="panel panel-map" id="panel-map">
          ${part(LookHere)}
          ${part(MapPlace, { moving: true, urgent: true })}
          ${saver("map")}
        </div>
        <div class="panel panel-inspector" id="panel-inspector">${part(Inspector)}${saver("inspector")}</div>
        <div class="strip">
          <div class="panel panel-next-token" id="panel-next-token">${part(NextToken, { layersToGo: moving(LayersToGo) })}${saver("next-token")}</div>
          <div class="panel panel-kv-cache" id="panel-kv-cache">${part(KvCache, { shelf: moving(Shelf), written: moving(Written) })}${saver("kv-cache")}</div>
          <div class="panel panel-time" id="panel-time">${part(Time)}${saver("time")}</div>
        </div>
      <//>
      <${CodeDock} ...${parts} />
      <${Focus} ...${parts} />
      ${embed && html`<${Fetched} of=${WHEEL_HINT} /><${SkipToStart} />`}
      ${starts && html`<${ChangesPlace} ...${parts} />`}
  `;
}

function ViewTabs(props) {
  return html`<${Tabs} panels=${PANELS} view=${useChoice(viewOf)} ...${props} />`;
}

/** Beside a wide view the map is narrow. */
function Stage({ element, children }) {
  const view = useChoice(viewOf);
  return html`<main class="stage" data-wide=${isWide(view)} ref=${element}>${children}</main>`;
}

const WHEEL_HINT = async () => (await import("../embed/wheel-hint.js")).WheelHint;
const FOCUS = async () => (await import("../focus/focus.js")).Focus;

/** Hides what is not named, where some parts are. */
function Focus(parts) {
  const named = useChoice(isFocused);
  return named && html`<${Fetched} of=${FOCUS} waits=${msg`Loading…`} part=${Part} ...${parts} />`;
}

const isFocused = ({ selection }) => selection.focus !== null;

const viewOf = ({ selection }) => selection.view;
