/** The run as a line: prefill as one block, then a chip per token; under it scrubber, sentence, transport. */

import { html } from "htm/preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { ending } from "../facts/endings.js";
import { counted, fixed, integer, milliseconds, percent, tokenLabel, tokenText } from "../facts/format.js";
import { notedSteps } from "../facts/saved-session.js";
import { slowdownOf } from "../state/player.js";
import { useGradually } from "../turns/later.js";
import { Memo } from "../ui/memo.js";
import { useScroll } from "../ui/use-scroll.js";
import { Branches } from "./branches.js";
import { narrate } from "./narration.js";
import { Notes } from "./notes.js";
import { Transport } from "./transport.js";

/** Where there is room, the current chips are kept this far from the ends of the list, in CSS pixels. */
const SIGHT_PX = 70;
/** Tokens of a prompt that are rendered in one frame. */
const TOKENS_AT_ONCE = 80;
/** A sentence is read out once it has stood this long, so that a fast run does not flood a screen reader, in ms. */
const SENTENCE_MS = 120;

export function Timeline({ state, dispatch, controller, client }) {
  const hides = (part) => state.embed?.hide.includes(part) ?? false;
  return html`
    <section class="timeline" aria-label="Timeline">
      <div class="track">
        ${!hides("prompt") && html`<${Prefill} state=${state} dispatch=${dispatch} />`}
        <${Chips} state=${state} dispatch=${dispatch} />
      </div>
      ${!hides("controls") && html`<${Transport} state=${state} dispatch=${dispatch} controller=${controller} />`}
      <div class="scrubber">
        ${!hides("controls") && html`<${Scrubber} state=${state} dispatch=${dispatch} />`}
        <${Narration} ...${sentencesOf(state)} />
      </div>
      ${!hides("controls") && html`<${Slowdown} state=${state} />`}
      <${Branches} state=${state} client=${client} controller=${controller} />
      ${!hides("notes") && html`<${Notes} state=${state} dispatch=${dispatch} />`}
    </section>
  `;
}

/** `seen` at once, while a step sweeps what it will do; `heard` once it has. */
function sentencesOf({ run, step, settled }) {
  if (!run) return { seen: "", heard: "" };
  return { seen: narrate(run, step, settled < step), heard: settled < 0 ? "" : narrate(run, settled) };
}

function Prefill({ state, dispatch }) {
  const { run, step, settled } = state;
  if (!run?.open)
    return html`<div class="prefill"><span class="prefill-tokens">waiting for the first frame</span></div>`;
  const done = run.steps.length > 0;
  const current = done && step === 0;
  const rows = `${integer(run.partialRows)} of ${integer(run.promptLength)} rows`;
  const time = done ? (settled < 0 ? "…" : milliseconds(run.steps[0].data.ms.total)) : rows;
  return html`
    <div class=${`prefill${current ? " is-current" : ""}`}><${PromptTokens} run=${run} /></div>
    <button
      class="prefill-time"
      type="button"
      aria-current=${current ? "step" : undefined}
      onClick=${() => dispatch({ type: "seek", step: 0 })}
    >
      <span>prefill · </span>${time}${notedIn(run).includes(0) && html`<${NoteMark} />`}
    </button>
  `;
}

/** Hundreds of tokens that never change, so they are rendered once per run, and not in one frame. */
function PromptTokens({ run }) {
  const count = useGradually(run.promptLength, { first: TOKENS_AT_ONCE, more: TOKENS_AT_ONCE, of: run });
  const parts = Array.from(
    { length: Math.ceil(count / TOKENS_AT_ONCE) },
    (_, part) => html`<${Memo} of=${PromptPart} key=${part} run=${run} begin=${part * TOKENS_AT_ONCE} />`,
  );
  const name = `Prompt, ${counted(run.promptLength, "token")}`;
  return html`<div class="prefill-tokens" role="group" tabindex="0" aria-label=${name}>${parts}</div>`;
}

function PromptPart({ run, begin }) {
  const end = Math.min(begin + TOKENS_AT_ONCE, run.promptLength);
  return run.tokens.slice(begin, end).map((token, i) => {
    const position = begin + i;
    return html`
      <bdi key=${position} class=${token.special ? "is-special" : ""} title=${`position ${position}, id ${token.id}`}
        >${tokenText(token)}</bdi
      >
    `;
  });
}

/**
 * A chip per token chosen. The token that step n chose is the one that step n + 1 feeds, so a click on it goes there;
 * the newest token has not been fed and stands for the step that chose it.
 */
function Chips({ state, dispatch }) {
  const { run, step, settled, playing } = state;
  // While it plays, what is recorded but has not come yet is left out of sight.
  const known = playing || settled < step ? settled : Number.POSITIVE_INFINITY;
  const list = useRef(null);
  const steps = run?.steps ?? [];
  useScroll(keepInSight, list, [step, steps.length]);
  const chips = useMemo(() => {
    const noted = notedIn(run);
    return steps.map((chosenBy, index) => chipOf(chosenBy, index, steps[index + 1], { step, known, noted, dispatch }));
  }, [run, steps.length, step, known, dispatch]);
  return html`
    <ol class=${`chips ${run?.close ? "" : "is-growing"}`} ref=${list}>
      ${chips} ${run?.close && html`<li class="ending">${ending(run.close)}</li>`}
    </ol>
  `;
}

function notedIn(run) {
  return notedSteps(run?.saved?.notes ?? []);
}

/** A step somebody wrote a note on. */
function NoteMark() {
  return html`<i class="note-mark" aria-hidden="true"></i><span class="visually-hidden">, has a note</span>`;
}

function chipOf(chosenBy, index, fedBy, { step, known, noted, dispatch }) {
  const { token } = chosenBy.data;
  return html`
    <li key=${index}>
      <${Memo}
        of=${Chip}
        token=${token}
        kind=${kindOf(index, step)}
        part=${partOf(token, index, fedBy)}
        time=${index + 1 > known ? "…" : timeOf(token, fedBy)}
        isKnown=${index <= known}
        target=${fedBy ? index + 1 : index}
        noted=${noted.includes(index + 1)}
        dispatch=${dispatch}
      />
    </li>
  `;
}

function timeOf(token, fedBy) {
  if (token.forced) return "given";
  return fedBy ? milliseconds(fedBy.data.ms.total) : percent(token.prob, 0);
}

/** What the token chosen by step `index` is at step `step`: fed now, chosen now, fed before, or yet to come. */
function kindOf(index, step) {
  if (index === step - 1) return "current";
  if (index === step) return "chosen";
  return index < step ? "past" : "future";
}

function partOf(token, index, fedBy) {
  const given = token.forced ? "given by this branch, " : "";
  return fedBy ? `${given}fed in step ${index + 1}` : `${given || "chosen "}in step ${index}, not fed`;
}

/** A place whose token has not come yet is there to be gone to, without saying what it holds. */
function Chip({ token, kind, part, time, isKnown, target, noted, dispatch }) {
  return html`
    <button
      class=${`chip is-${kind}${token.forced ? " is-given" : ""}`}
      type="button"
      aria-current=${kind === "current" ? "step" : undefined}
      title=${isKnown ? `${tokenText(token)} ${part}` : `step ${target}`}
      onClick=${() => dispatch({ type: "seek", step: target })}
    >
      <bdi class="token">${isKnown ? tokenLabel(token, 16) : "…"}</bdi>
      <span class="time">${time}</span>
      <span class="visually-hidden">${isKnown ? part : `step ${target}`}</span>${noted && html`<${NoteMark} />`}
    </button>
  `;
}

/** Scrolls the list itself, never the page, so that the chip fed and the chip chosen now can be seen, and the end after it. */
function keepInSight(list) {
  const chosen = list.querySelector(".is-chosen");
  if (!chosen) return;
  const bounds = list.getBoundingClientRect();
  const { left } = (list.querySelector(".is-current") ?? chosen).getBoundingClientRect();
  const end = list.querySelector("li:has(.is-chosen) + .ending")?.getBoundingClientRect();
  const { right } = end && end.right - left <= bounds.width ? end : chosen.getBoundingClientRect();
  const margin = Math.max(0, Math.min(SIGHT_PX, (bounds.width - right + left) / 2));
  if (right > bounds.right - margin) list.scrollLeft += right - bounds.right + margin;
  else if (left < bounds.left + margin) list.scrollLeft -= bounds.left + margin - left;
}

function Scrubber({ state, dispatch }) {
  const { run, step } = state;
  const last = Math.max(0, (run?.steps.length ?? 0) - 1);
  return html`
    <input
      type="range"
      aria-label="Step"
      aria-valuetext=${`Step ${step} of ${last}`}
      min="0"
      max=${last}
      step="1"
      value=${step}
      onInput=${(event) => dispatch({ type: "seek", step: event.target.valueAsNumber })}
    />
  `;
}

/** Seen at once, or a fast run would be told by the sentence of another step. */
function Narration({ seen, heard }) {
  const [said, setSaid] = useState(heard);
  useEffect(() => {
    const timer = setTimeout(() => setSaid(heard), SENTENCE_MS);
    return () => clearTimeout(timer);
  }, [heard]);
  return html`
    <p class="narration" aria-hidden="true" title=${seen}>${seen}</p>
    <p class="visually-hidden" aria-live="polite">${said}</p>
  `;
}

function Slowdown({ state }) {
  const { run, step, speed, following } = state;
  if (following) return html`<span class="slowdown">live</span>`;
  return html`<span class="slowdown">${run?.steps[step] ? paceText(slowdownOf(run.steps, step, speed)) : ""}</span>`;
}

/** @param {number} factor how many times slower than measured */
function paceText(factor) {
  const times = factor >= 1 ? factor : 1 / factor;
  const rounded = fixed(times, times < 9.95 ? 1 : 0).replace(/\.0$/, "");
  if (rounded === "1") return "as fast as it was";
  return `${rounded}× ${factor > 1 ? "slower" : "faster"} than it was`;
}
