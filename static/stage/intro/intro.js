/** The first thirty seconds: one sentence, the moments of its run, three ways on. In place of the stage, on the same player. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { counted } from "../../shared/facts/format.js";
import { canAsk, isAsking } from "../../shared/state/asking.js";
import { momentInSight, momentsOf } from "../../shared/state/intro.js";
import { Icon } from "../../shared/ui/icons.js";
import { Places } from "../../shared/ui/places.js";
import { ThemeButton } from "../../shared/ui/theme-button.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { PromptForm, Settings } from "../prompt/own-prompt.js";
import { Candidates, Memory, Mix, Pace } from "./bars.js";
import { Columns, Rows } from "./picture.js";
import { saidOf, whyTheFirst } from "./said.js";
import { Sentence } from "./sentence.js";
import { WaysOn } from "./ways-on.js";

/** Of 256 shades of K and V, the one that stands for them. */
const KEPT = 190;
const ON_COLUMNS = ["prefill", "look", "choice", "cache", "decode", "again"];

export function Intro({ state, dispatch, controller, client }) {
  const { run, embed, theme } = state;
  const asks = isAsking(state);
  const moment = asks ? "own" : momentInSight(state);
  const said = asks ? OWN : saidOf(moment, state);
  const last = Boolean(run?.close) && state.intro.moment === momentsOf(state).length - 1;
  const ask = (asking) => dispatch({ type: "ask", asking });
  const own = !asks && canAsk(state) && (() => ask(true));
  const skip = () => {
    dispatch({ type: "select", selection: { view: "head" } });
    dispatch({ type: "show", step: 0 });
    controller.play();
  };
  return html`<main class="intro fill anchor" data-moment=${moment} aria-label="The first thirty seconds">
    <header class="intro-top line wide">
      ${!embed && html`<h1 class="wordmark">KV<span>Scope</span></h1>`}
      ${!embed && !state.file && !state.sandboxed && html`<${Places} here=${run?.saved ? null : "stage"} run=${run?.id} folded />`}
      <button class="intro-skip muted push" type="button" onClick=${skip}>Skip to everything</button>
      ${!embed && html`<${ThemeButton} theme=${theme} dispatch=${dispatch} />`}
    </header>
    ${
      asks
        ? html`<div class="intro-words stack"><${Said} said=${said} />
            <${PromptForm} state=${state} dispatch=${dispatch} controller=${controller} client=${client} onClose=${run && (() => ask(false))}><${Settings} state=${state} dispatch=${dispatch} /><//>
          </div>`
        : html`<${Moment} state=${state} moment=${moment} said=${said} start=${html`<${Start} state=${state} controller=${controller} own=${own} />`} />`
    }
    ${last && !asks && html`<${WaysOn} state=${state} dispatch=${dispatch} />`}
    ${!asks && !embed?.hide.includes("controls") && html`<${Transport} state=${state} dispatch=${dispatch} controller=${controller} own=${last && own} said=${said.title} />`}
    <p class="visually-hidden" aria-live="polite">${said.title}</p>
  </main>`;
}

const OWN = { title: "Try your own", more: "Begin a sentence. The model finishes it, and the tour tells what it did." };

/** @param {{state: Object, moment: string, said: Object, start: *}} props `start`: what the opening sentence has below it */
function Moment({ state, moment, said, start }) {
  const { run, look } = state;
  const text = useRef(null);
  // What moves cuts where motion is not wanted.
  const progress = state.reducedMotion ? 1 : state.intro.progress;
  const shown = { run, look, moment, progress, text };
  const opens = moment === "sentence";
  const Over = OVER[moment];
  return html`<div class="intro-words stack">
      ${!opens && html`<${Said} said=${said} />`}
      ${run?.open && html`<${Sentence} ...${shown} />`}
      ${opens && html`<${Said} said=${said} />${start}`}
    </div>
    ${Over && html`<${Over} ...${shown} />`}
    ${ON_COLUMNS.includes(moment) && html`<${Columns} ...${shown} said=${said.title} />`}
    ${moment === "without" && html`<${Rows} run=${run} progress=${progress} />`}`;
}

function Said({ said }) {
  return html`<div class="intro-said stack tight"><h2>${said.title}</h2><p>${said.more}</p></div>`;
}

function Start({ state, controller, own }) {
  const { run, playing, readiness } = state;
  const model = run?.open?.model;
  return html`<div class="row">
      ${!playing && run?.steps.length > 0 && html`<button class="button is-main is-tall" type="button" onClick=${controller.play}><${Icon} name="play" />Watch</button>`}
      ${own && !playing && html`<button class="button is-tall" type="button" onClick=${own}>Try your own</button>`}
      ${run?.awaited && html`<p role="status">The model is reading it…</p>`}
    </div>
    ${
      model &&
      html`<p class="muted">${model.name}, ${model.layers} layers. Every number you will see is real.${
        own && readiness.state === "loading" ? " The model is still loading: this run was recorded." : ""
      }</p>`
    }`;
}

/** What lies over the picture of a moment. */
const OVER = {
  prefill: () =>
    html`<${Legend}><li><i class="swatch is-computed"></i>a token’s column of numbers, computed layer by layer</li><//>`,
  look: Mix,
  choice: Candidates,
  cache: KeyAndValue,
  decode: Threads,
  again: Memory,
  pace: Pace,
};

function Legend({ children }) {
  return html`<ul class="intro-legend row muted">${children}</ul>`;
}

function KeyAndValue() {
  const theme = useTheme();
  return html`<${Legend}>
    <li><i class="swatch" style=${`background:${theme.cachedK.css[KEPT]}`}></i>key: what later tokens compare with</li>
    <li><i class="swatch" style=${`background:${theme.cachedV.css[KEPT]}`}></i>value: what they take</li>
    <li><i class="swatch is-hollow"></i>dropped</li>
  <//>`;
}

function Threads({ run }) {
  const why = useMemo(() => whyTheFirst(run), [run]);
  return html`<${Legend}>
    <li>lines: what it takes from the cache in this layer, average of ${counted(run.heads, "head")}</li>
    ${why && html`<li class="intro-why fill">${why}</li>`}
  <//>`;
}

function Transport({ state, dispatch, controller, own, said }) {
  const moments = momentsOf(state);
  const { moment, progress } = state.intro;
  // Before it is begun nothing is behind.
  const share = moments.length > 1 && (moment > 0 || state.playing) ? (moment + progress) / moments.length : 0;
  return html`<div class="intro-transport line" role="group" aria-label="Playback">
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
    ${own && html`<button class="button is-tall" type="button" onClick=${own}>Try your own</button>`}
    <i class="intro-done" style=${`width:${(100 * share).toFixed(1)}%`} aria-hidden="true"></i>
  </div>`;
}

function Button({ name, icon, onClick }) {
  return html`<button class="icon-button muted still" type="button" aria-label=${name} title=${name} onClick=${onClick}><${Icon} name=${icon} /></button>`;
}
