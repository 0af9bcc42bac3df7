/** A run as one reads and plays it: the answer, the transport with its steps, the step in a sentence, branches, notes. */

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { DeleteRun } from "../../shared/share/delete-run.js";
import { ShareButton } from "../../shared/share/share-button.js";
import { canAsk } from "../../shared/state/asking.js";
import { lensMs } from "../../shared/state/lens.js";
import { slowdownOf } from "../../shared/state/player.js";
import { Answer } from "./answer.js";
import { Branches } from "./branches.js";
import { narrate } from "./narration.js";
import { Notes } from "./notes.js";
import { paceInWords, settingsOfRun } from "./pace.js";
import { LayerWalk, Live, Speed, Transport } from "./transport.js";

/** A sentence is read out once it has stood this long, so that a fast run does not flood a screen reader, in ms. */
const SENTENCE_MS = 120;

/** @param {Object} props as of every part; `stepsBar`: the slider, which moves with the clock */
export function Timeline({ state, dispatch, controller, client, stepsBar }) {
  const [split, setSplit] = useState(false);
  const hides = (part) => state.embed?.hide.includes(part) ?? false;
  const controls = !hides("controls");
  return html`
    <section class="timeline" aria-label="Timeline">
      <${Answer} state=${state} dispatch=${dispatch} split=${split} />
      ${controls && html`<${AnswerActions} state=${state} dispatch=${dispatch} client=${client} split=${split} onSplit=${() => setSplit(!split)} />`}
      ${
        controls &&
        html`<div class="play-row whole line wide">
        <${Transport} state=${state} controller=${controller} />
        ${stepsBar}
        <${LayerWalk} dispatch=${dispatch} />
        <${Live} state=${state} controller=${controller} />
        <${Speed} state=${state} dispatch=${dispatch} />
      </div>`
      }
      <${Narration} ...${sentencesOf(state)} />
      <${Branches} state=${state} client=${client} controller=${controller} />
      ${!hides("notes") && html`<${Notes} state=${state} dispatch=${dispatch} />`}
    </section>
  `;
}

function AnswerActions({ state, dispatch, client, split, onSplit }) {
  const { run, embed, file, sandboxed } = state;
  return html`<div class="answer-actions row">
    <button
      class="button is-large strong nowrap still is-quiet" type="button" disabled=${!run?.open} aria-pressed=${split} title="Token by token, with times" onClick=${onSplit}
    >Tokens</button>
    ${canAsk(state) && html`<${DeleteRun} state=${state} client=${client} />`}
    ${
      !embed &&
      !file &&
      html`<button
        class="button is-large strong nowrap still" id="ask" type="button" disabled=${sandboxed} title=${sandboxed ? SANDBOXED : "A prompt of your own, and all settings"}
        onClick=${() => dispatch({ type: "ask", asking: true })}
      >Try your own</button>`
    }
    ${!embed && !file && !run?.saved && html`<${ShareButton} state=${state} dispatch=${dispatch} />`}
    <${Pace} state=${state} />
  </div>`;
}

const SLOWED =
  "Each step is shown for its measured time, times one factor for the whole run; a layer that opens takes longer";
const SANDBOXED = "The page around this one does not let it start runs: open the link by itself";

/** `seen` at once, while a step sweeps what it will do; `heard` once it has. */
function sentencesOf({ run, step, settled }) {
  if (!run) return { seen: "", heard: "" };
  return { seen: narrate(run, step, settled < step), heard: settled < 0 ? "" : narrate(run, settled) };
}

/** Seen at once, or a fast run would be told by the sentence of another step. */
function Narration({ seen, heard }) {
  const [said, setSaid] = useState(heard);
  useEffect(() => {
    const timer = setTimeout(() => setSaid(heard), SENTENCE_MS);
    return () => clearTimeout(timer);
  }, [heard]);
  return html`
    <p class="narration whole cut" aria-hidden="true" title=${seen}>${seen}</p>
    <p class="visually-hidden" aria-live="polite">${said}</p>
  `;
}

/** What the run was asked for, and how much slower than it was it is shown. */
function Pace({ state }) {
  const { run, step, speed, following } = state;
  // Its line is there from the start, or all below it would move when the run comes.
  if (!run?.open) return html`<div class="pace muted nowrap">${"\u00a0"}</div>`;
  const settings = settingsOfRun(run.open);
  return html`<div class="pace muted nowrap">
    <span>${settings}</span>
    <span class="slowdown" title=${SLOWED}>${following ? "live" : run.steps[step] ? paceInWords(slowdownOf(run.steps, step, speed), lensMs(state, step) > 0) : ""}</span>
  </div>`;
}
