/** The first thirty seconds: one sentence, six moments of its run, three ways on. In place of the stage, on the same player. */

import { html } from "htm/preact";
import { useRef } from "preact/hooks";
import { PromptForm } from "../prompt/own-prompt.js";
import { canAsk, isAsking } from "../state/asking.js";
import { momentInSight, momentsOf } from "../state/intro.js";
import { Icon } from "../ui/icons.js";
import { ThemeButton } from "../ui/theme-button.js";
import { useTheme } from "../ui/use-theme.js";
import { Candidates } from "./candidates.js";
import { saidOf } from "./facts.js";
import { Columns, Rows } from "./picture.js";
import { Sentence } from "./sentence.js";
import { WaysOn } from "./ways-on.js";

/** Of 256 shades of K and V, the one that stands for them. */
const KEPT = 190;

export function Intro({ state, dispatch, controller, client }) {
  const { run, look, embed, theme } = state;
  const asks = isAsking(state);
  const text = useRef(null);
  const moment = momentInSight(state);
  // What moves cuts where motion is not wanted.
  const progress = state.reducedMotion ? 1 : state.intro.progress;
  const said = saidOf(moment, state);
  const own = canAsk(state) && (() => dispatch({ type: "ask", asking: true }));
  const skip = () => {
    dispatch({ type: "select", selection: { view: "head" } });
    dispatch({ type: "show", step: 0 });
    controller.play();
  };
  const shown = { run, look, moment, progress, text };
  return html`<main class="intro" data-moment=${moment} aria-label="The first thirty seconds">
    <header class="intro-top">
      ${!embed && html`<h1 class="wordmark">KV<span>Scope</span></h1>`}
      <button class="intro-skip" type="button" onClick=${skip}>Skip to everything</button>
      ${!embed && html`<${ThemeButton} theme=${theme} dispatch=${dispatch} />`}
    </header>
    <div class="intro-words">
      ${moment !== "sentence" && html`<${Said} said=${said} />`}
      ${run?.open && !asks && html`<${Sentence} ...${shown} />`}
      ${moment === "sentence" && !asks && html`<${Said} said=${said} />`}
      ${moment === "sentence" && !asks && html`<${Start} state=${state} controller=${controller} own=${own} />`}
      ${asks && html`<div class="intro-own"><${PromptForm} state=${state} dispatch=${dispatch} controller=${controller} client=${client} onClose=${() => dispatch({ type: "ask", asking: false })} /></div>`}
    </div>
    ${moment === "choice" && html`<${Candidates} run=${run} progress=${progress} />`}
    ${moment === "cache" && html`<${Legend} run=${run} />`}
    ${["prefill", "look", "choice", "cache"].includes(moment) && html`<${Columns} ...${shown} said=${said.title} />`}
    ${moment === "without" && html`<${Rows} run=${run} progress=${progress} /><${WaysOn} state=${state} dispatch=${dispatch} />`}
    ${!embed?.hide.includes("controls") && html`<${Transport} state=${state} dispatch=${dispatch} controller=${controller} own=${moment === "without" && !asks && own} said=${said.title} />`}
    <p class="visually-hidden" aria-live="polite">${said.title}</p>
  </main>`;
}

function Said({ said }) {
  return html`<div class="intro-said"><h2>${said.title}</h2><p>${said.more}</p></div>`;
}

function Start({ state, controller, own }) {
  const { run, playing, readiness } = state;
  const model = run?.open?.model;
  return html`<div class="intro-actions">
      ${!playing && run?.steps.length > 0 && html`<button class="intro-main" type="button" onClick=${controller.play}><${Icon} name="play" />Watch</button>`}
      ${own && !playing && html`<button class="intro-other" type="button" onClick=${own}>Try your own</button>`}
      ${run?.awaited && html`<p role="status">The model is reading it…</p>`}
    </div>
    ${
      model &&
      html`<p class="intro-model">${model.name}, ${model.layers} layers. Every number you will see is real.${
        own && readiness.state === "loading" ? " The model is still loading: this run was recorded." : ""
      }</p>`
    }`;
}

function Legend({ run }) {
  const theme = useTheme();
  return html`<ul class="intro-legend">
    <li><i class="is-gone"></i>gone</li>
    <li>
      <i style=${`background:${theme.cachedK.css[KEPT]}`}></i><i style=${`background:${theme.cachedV.css[KEPT]}`}></i>kept: K and V
    </li>
    <li><i class="is-now"></i>computed now</li>
    <li class="intro-threads">threads: the layer in sight, mean of its ${run.heads} heads</li>
  </ul>`;
}

function Transport({ state, dispatch, controller, own, said }) {
  const moments = momentsOf(state);
  const { moment, progress } = state.intro;
  // Before it is begun nothing is behind.
  const share = moments.length > 1 && (moment > 0 || state.playing) ? (moment + progress) / moments.length : 0;
  return html`<div class="intro-transport" role="group" aria-label="Playback">
    <${Button} name="Previous moment" icon="previous" onClick=${controller.previous} />
    ${
      state.playing
        ? html`<${Button} key="play" name="Pause" icon="pause" onClick=${controller.pause} />`
        : html`<${Button} key="play" name="Play" icon="play" onClick=${controller.play} />`
    }
    <${Button} name="Next moment" icon="next" onClick=${controller.next} />
    <input
      type="range" aria-label="Moment" aria-valuetext=${`${moment + 1} of ${moments.length}: ${said}`} min="0" max=${moments.length - 1} step="1"
      value=${moment} onInput=${({ target }) => dispatch({ type: "moment", moment: target.valueAsNumber })}
    />
    ${own && html`<button class="intro-other" type="button" onClick=${own}>Try your own</button>`}
    <i class="intro-done" style=${`width:${(100 * share).toFixed(1)}%`} aria-hidden="true"></i>
  </div>`;
}

function Button({ name, icon, onClick }) {
  return html`<button class="icon-button" type="button" aria-label=${name} title=${name} onClick=${onClick}><${Icon} name=${icon} /></button>`;
}
