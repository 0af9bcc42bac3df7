/** The intro of thirty seconds: an opening sentence, the moments of the run, three links. It replaces the Stage and uses the same player. */

import { html } from "htm/preact";
import { useMemo, useRef } from "preact/hooks";
import { integer } from "../../shared/facts/format.js";
import { under } from "../../shared/log/root.js";
import { momentInSight, momentsOf } from "../../shared/state/intro.js";
import { Icon } from "../../shared/ui/icons.js";
import { Places } from "../../shared/ui/places.js";
import { ThemeButton } from "../../shared/ui/theme-button.js";
import { useTheme } from "../../shared/ui/use-theme.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { PromptForm, Settings } from "../prompt/own-prompt.js";
import { canAsk, isAsking } from "../state/run-request.js";
import { Candidates, Memory, Mix, Pace } from "./bars.js";
import { captionOf, whyFirstToken } from "./captions.js";
import { waysOn } from "./facts.js";
import { Columns, Rows } from "./picture.js";
import { Sentence } from "./sentence.js";

/** The shade of K and V in the legend, of 256. */
const LEGEND_SHADE = 190;
const ON_COLUMNS = ["prefill", "look", "choice", "cache", "decode", "again"];

export function Intro({ state, dispatch, controller, client }) {
  const { run, embed, theme } = state;
  const asks = isAsking(state);
  const moment = asks ? "own" : momentInSight(state);
  const caption = asks ? OWN : captionOf(moment, state);
  const last = Boolean(run?.close) && state.intro.moment === momentsOf(state).length - 1;
  const ask = (asking) => dispatch({ type: "ask", asking });
  const own = !asks && canAsk(state) && (() => ask(true));
  const skip = () => {
    dispatch({ type: "select", selection: { view: "head" } });
    dispatch({ type: "seek", step: 0 });
    if (embed) controller.play();
  };
  return html`<main class="intro fill anchor" data-moment=${moment} aria-label=${msg`The first thirty seconds`}>
    <header class="intro-top line wide">
      ${!embed && html`<h1 class="wordmark">KV<span>Scope</span></h1>`}
      ${!embed && !state.file && !state.sandboxed && html`<${Places} here=${run?.saved ? null : "stage"} run=${run?.id} folded />`}
      <button class="intro-skip muted push" type="button" onClick=${skip}>${msg`Skip the tour`}</button>
      ${!embed && html`<${ThemeButton} theme=${theme} dispatch=${dispatch} />`}
    </header>
    ${
      asks
        ? html`<div class="intro-words stack"><${Caption} ...${caption} />
            <${PromptForm} state=${state} dispatch=${dispatch} controller=${controller} client=${client} onClose=${run && (() => ask(false))}><${Settings} state=${state} dispatch=${dispatch} /><//>
          </div>`
        : html`<${Moment} state=${state} moment=${moment} caption=${caption} start=${html`<${Start} state=${state} controller=${controller} own=${own} />`} />`
    }
    ${last && !asks && html`<${WaysOn} state=${state} dispatch=${dispatch} />`}
    ${!asks && !embed?.hide.includes("controls") && html`<${Transport} state=${state} dispatch=${dispatch} controller=${controller} own=${last && own} title=${caption.title} />`}
    <p class="visually-hidden" aria-live="polite">${caption.title}</p>
  </main>`;
}

const OWN = {
  title: msg`Try your own`,
  more: msg`Begin a sentence. The model finishes it, and the tour explains what it did.`,
};

/** @param {{state: Object, moment: string, caption: Object, start: *}} props `start`: the buttons below the opening sentence */
function Moment({ state, moment, caption, start }) {
  const { run, look } = state;
  const text = useRef(null);
  // With reduced motion each moment is shown at its end.
  const progress = state.reducedMotion ? 1 : state.intro.progress;
  const shown = { run, look, moment, progress, text };
  const opens = moment === "sentence";
  const Over = OVER[moment];
  return html`<div class="intro-words stack">
      ${!opens && html`<${Caption} ...${caption} />`}
      ${run?.open && html`<${Sentence} ...${shown} />`}
      ${opens && html`<${Caption} ...${caption} />${start}`}
    </div>
    ${Over && html`<${Over} ...${shown} />`}
    ${ON_COLUMNS.includes(moment) && html`<${Columns} ...${shown} label=${caption.title} />`}
    ${moment === "without" && html`<${Rows} run=${run} progress=${progress} />`}`;
}

function Caption({ title, more }) {
  return html`<div class="intro-caption stack tight"><h2>${title}</h2><p>${more}</p></div>`;
}

function Start({ state, controller, own }) {
  const { run, playing, readiness } = state;
  const model = run?.open?.model;
  return html`<div class="row">
      ${!playing && run?.steps.length > 0 && html`<button class="button is-main is-tall" type="button" onClick=${controller.play}><${Icon} name="play" />${msg`Watch`}</button>`}
      ${own && !playing && html`<button class="button is-tall" type="button" onClick=${own}>${msg`Try your own`}</button>`}
      ${run?.awaited && html`<p role="status">${msg`The model is reading the text…`}</p>`}
    </div>
    ${model && html`<p class="muted">${aboutModel(model, own && readiness.state === "loading")}</p>`}`;
}

function aboutModel({ name, layers }, loading) {
  const sentence = plural(
    layers,
    form`${name}, ${layers} layer. Every number you will see is real.`,
    form`${name}, ${layers} layers. Every number you will see is real.`,
  );
  return loading ? `${sentence} ${msg`The model is still loading; this run was recorded earlier.`}` : sentence;
}

/** Legends and bars over the picture of a moment. */
const OVER = {
  prefill: () =>
    html`<${Legend}><li><i class="swatch is-computed"></i>${msg`above each token: its numbers, computed layer by layer`}</li><//>`,
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
    <li><i class="swatch" style=${`background:${theme.cachedK.css[LEGEND_SHADE]}`}></i>${msg`key: later tokens compare themselves with it`}</li>
    <li><i class="swatch" style=${`background:${theme.cachedV.css[LEGEND_SHADE]}`}></i>${msg`value: later tokens take it into their mix`}</li>
    <li><i class="swatch is-hollow"></i>${msg`dropped`}</li>
  <//>`;
}

function Threads({ run }) {
  const why = useMemo(() => whyFirstToken(run), [run]);
  const heads = integer(run.heads);
  return html`<${Legend}>
    <li>${plural(
      run.heads,
      form`lines: how much it reads from each cached token in this layer, for ${heads} head`,
      form`lines: how much it reads from each cached token in this layer, mean of ${heads} heads`,
    )}</li>
    ${why && html`<li class="intro-why fill">${why}</li>`}
  <//>`;
}

function Transport({ state, dispatch, controller, own, title }) {
  const moments = momentsOf(state);
  const { moment, progress } = state.intro;
  // Before the first play the bar is empty.
  const share = moments.length > 1 && (moment > 0 || state.playing) ? (moment + progress) / moments.length : 0;
  const [number, count] = [moment + 1, moments.length];
  return html`<div class="intro-transport line" role="group" aria-label=${msg`Playback`}>
    <${Button} name=${msg`Previous moment`} icon="previous" onClick=${controller.previous} />
    ${
      state.playing
        ? html`<${Button} key="play" name=${msg`Pause`} icon="pause" onClick=${controller.pause} />`
        : html`<${Button} key="play" name=${msg`Play`} icon="play" onClick=${controller.play} />`
    }
    <${Button} name=${msg`Next moment`} icon="next" onClick=${controller.next} />
    <input
      type="range" aria-label=${msg`Moment`} aria-valuetext=${msg`${number} of ${count}: ${title}`} min="0" max=${moments.length - 1} step="1"
      value=${moment} onInput=${({ target }) => dispatch({ type: "moment", moment: target.valueAsNumber })}
    />
    ${own && html`<button class="button is-tall" type="button" onClick=${own}>${msg`Try your own`}</button>`}
    <i class="intro-done" style=${`width:${(100 * share).toFixed(1)}%`} aria-hidden="true"></i>
  </div>`;
}

function Button({ name, icon, onClick }) {
  return html`<button class="icon-button muted still" type="button" aria-label=${name} title=${name} onClick=${onClick}><${Icon} name=${icon} /></button>`;
}

function WaysOn({ state, dispatch }) {
  const go = ({ step, selection }) => {
    dispatch({ type: "select", selection });
    dispatch({ type: "seek", step });
  };
  return html`<ul class="intro-ways grid">${waysOn(state).map(
    (way) =>
      html`<li key=${way.question}><button class="box stack tight" type="button" onClick=${() => go(way)}><b>${way.question}</b> <span>${way.answer}</span></button></li>`,
  )}${!state.embed && !state.file && html`<li><a class="box stack tight" href=${under("/learn")}><b>${msg`How does it all work?`}</b> <span>${msg`Lessons, one idea at a time, from the first token on.`}</span></a></li>`}</ul>`;
}
