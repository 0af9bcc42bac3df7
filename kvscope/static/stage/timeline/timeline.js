/** The run as text and as steps: the answer, playback controls, sentences about the step, branches, notes. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { fixed } from "../../shared/facts/format.js";
import { settingsOfRun } from "../../shared/facts/settings.js";
import { isHere } from "../../shared/log/device.js";
import { ownRunAt } from "../../shared/log/root.js";
import { slowdownOf } from "../../shared/state/player.js";
import { Fetched } from "../../shared/ui/fetched.js";
import { msg } from "../../shared/words/msg.js";
import { ChangedLine } from "../changes/changed-line.js";
import { compareLink, idOf } from "../facts/compare-link.js";
import { DeleteRun } from "../save-panel/delete-run.js";
import { SaveHere } from "../save-panel/save-here.js";
import { ShareButton } from "../save-panel/share-button.js";
import { canAsk } from "../state/run-request.js";
import { Answer } from "./answer.js";
import { Branches } from "./branches.js";
import { narrate } from "./narration.js";
import { Notes } from "./notes.js";
import { LayerWalk, Live, Speed, Transport } from "./transport.js";

const BESIDE = async () => (await import("../changes/beside-original.js")).BesideOriginal;
/** A screen reader gets a sentence only after it was shown this long, in ms, so that a fast run does not flood it. */
const SPOKEN_AFTER_MS = 120;

/** @param {Object} props as every part; `stepsBar`: the slider, rendered in every animation frame */
export function Timeline({ state, dispatch, controller, client, stepsBar }) {
  const [split, setSplit] = useState(false);
  const hides = (part) => state.embed?.hide.includes(part) ?? false;
  const controls = !hides("controls");
  return html`
    <section class="timeline" aria-label=${msg`Timeline`}>
      <${ChangedLine} state=${state} dispatch=${dispatch} controller=${controller} />
      <${Answer} state=${state} dispatch=${dispatch} split=${split} />
      ${controls && html`<${AnswerActions} state=${state} dispatch=${dispatch} client=${client} split=${split} onSplit=${() => setSplit(!split)} />`}
      ${
        controls &&
        html`<div class="play-row whole line wide">
        <${Transport} state=${state} controller=${controller} />
        ${stepsBar}
        <${LayerWalk} dispatch=${dispatch} />
        <${Live} state=${state} controller=${controller} client=${client} />
        <${Speed} state=${state} dispatch=${dispatch} />
      </div>`
      }
      <${Narration} ...${sentencesOf(state)} />
      ${state.original?.run && html`<${Fetched} of=${BESIDE} state=${state} dispatch=${dispatch} />`}
      <${Branches} state=${state} client=${client} controller=${controller} />
      ${!hides("notes") && html`<${Notes} state=${state} dispatch=${dispatch} />`}
    </section>
  `;
}

function AnswerActions({ state, dispatch, client, split, onSplit }) {
  const { run, embed, file, inSite, engine, sandboxed } = state;
  return html`<div class="answer-actions row">
    <button
      class="button is-large strong nowrap still is-quiet" type="button" disabled=${!run?.open} aria-pressed=${split} title=${msg`Token by token, with times`} onClick=${onSplit}
    >${msg`Tokens`}</button>
    ${canAsk(state) && html`<${DeleteRun} state=${state} client=${client} />`}
    ${
      !embed &&
      !file &&
      (!inSite || engine !== "") &&
      html`<button
        class="button is-large strong nowrap still" id="ask" type="button" disabled=${sandboxed && !inSite} title=${sandboxed && !inSite ? SANDBOXED : msg`Run your own prompt, with all settings`}
        onClick=${() => dispatch({ type: "ask", asking: true })}
      >${msg`Try your own`}</button>`
    }
    ${!embed && inSite && engine === "" && html`<a class="button is-large strong nowrap still" id="ask" href=${ownRunAt("/")} target="_blank" rel="noopener">${msg`Try your own`}</a>`}
    ${!embed && !file && !run?.saved && !(inSite && isHere(run)) && html`<${ShareButton} key=${run?.id} state=${state} dispatch=${dispatch} client=${client} />`}
    ${isHere(run) && html`<${SaveHere} run=${run} client=${client} />`}
    ${!embed && !file && !sandboxed && run?.open && !isHere(run) && html`<${CompareLink} run=${run} />`}
    <${Pace} state=${state} />
  </div>`;
}

/** Links to the comparison of a changed run with the original, or of any other run with one to be chosen. */
function CompareLink({ run }) {
  const other = run.open.changed?.of ?? null;
  const [a, b] = other && !run.saved ? [other, run.id] : [idOf(run), null];
  return html`<a class="compare-link button is-large strong nowrap still is-quiet" href=${compareLink(a, b)} title=${msg`This run beside another, token by token`}>${b ? msg`Compare` : msg`Compare with…`}</a>`;
}

const PACE_TITLE = msg`Each step is shown for its measured time multiplied by one factor for the whole run. An open layer takes longer.`;
const SANDBOXED = msg`The page around this one does not allow runs here. Open the link in its own tab.`;

/** Returns `shown`, about the shown step, complete or not, and `complete`, about the last step shown to its end. */
function sentencesOf({ run, step, settled }) {
  if (!run) return { shown: "", complete: "" };
  return { shown: narrate(run, step, settled < step), complete: settled < 0 ? "" : narrate(run, settled) };
}

/** Only the text for screen readers is delayed: delayed text on the screen would belong to another step of a fast run. */
function Narration({ shown, complete }) {
  const [spoken, setSpoken] = useState(complete);
  useEffect(() => {
    const timer = setTimeout(() => setSpoken(complete), SPOKEN_AFTER_MS);
    return () => clearTimeout(timer);
  }, [complete]);
  return html`
    <p class="narration whole cut" aria-hidden="true" title=${shown}>${shown}</p>
    <p class="visually-hidden" aria-live="polite">${spoken}</p>
  `;
}

/** Shows the run's settings, and how much slower or faster than measured it is played. */
function Pace({ state }) {
  const { run, step, speed, following } = state;
  // An empty line before the run opens, so that nothing below moves.
  if (!run?.open) return html`<div class="pace muted nowrap">${"\u00a0"}</div>`;
  const settings = settingsOfRun(run.open);
  return html`<div class="pace muted nowrap">
    <span class="cut" title=${settings}>${settings}</span>
    <span class="slowdown" title=${PACE_TITLE}>${following ? msg`live` : run.steps[step] ? paceInWords(slowdownOf(run.steps, step, speed)) : ""}</span>
  </div>`;
}

/**
 * @param {number|null} factor how many times longer than measured a step is shown; null if it was not measured
 * @returns {string}
 */
export function paceInWords(factor) {
  if (factor === null) return "";
  const ratio = factor >= 1 ? factor : 1 / factor;
  const times = fixed(ratio, ratio < 9.95 ? 1 : 0).replace(/\.0$/, "");
  if (times === "1") return msg`shown at measured speed`;
  return factor < 1 ? msg`shown ${times}× faster than measured` : msg`shown ${times}× slower than measured`;
}
