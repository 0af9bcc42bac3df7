/** The prompt and its answer as running text, with marks on the tokens that are being computed; or, on request, token by token with times. */

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { changeInWords } from "../../shared/facts/changes.js";
import { ending } from "../../shared/facts/endings.js";
import { integer, tokenLabel } from "../../shared/facts/format.js";
import { sentenceOf } from "../../shared/facts/prose.js";
import { notedSteps } from "../../shared/facts/saved-session.js";
import { isInherited } from "../../shared/facts/step-rows.js";
import { useGradually } from "../../shared/painting/later.js";
import { Memo } from "../../shared/ui/memo.js";
import { form, msg, plural } from "../../shared/words/msg.js";
import { knownStep } from "../state/layer-sweep.js";
import { kindOf, timeOf, titleOf, typeOf } from "./answer-tokens.js";

/** Tokens of a prompt that are rendered in one frame. */
const TOKENS_AT_ONCE = 80;
const NO_BREAK = 24;
/** A difference below this is rounding, not another line. */
const ROUNDING_PX = 2;
/** What the numbers under the tokens mean. */
const KEY = [
  [msg`number`, msg`position`],
  ["ms", msg`time of the step that computed it`],
  ["%", msg`probability`],
];

export function Answer({ state, dispatch, split }) {
  const { run, step, settled } = state;
  const text = useRef(null);
  const [whole, setWhole] = useState(false);
  const isCut = useCut(text, [run, step, run?.steps.length, split, whole]);
  useEffect(() => setWhole(false), [run]);
  useLayoutEffect(() => {
    if (text.current) keepInSight(text.current);
  }, [step, settled, run?.steps.length, split, whole]);
  if (!run?.open)
    return html`<p class="answer" data-type="large">${state.opening ? msg`Waiting for the run to start…` : ""}</p>`;
  const hidesPrompt = state.embed?.hide.includes("prompt") ?? false;
  const onClick = ({ target }) => {
    // A click that ends a text selection must not change the step.
    const at = window.getSelection()?.isCollapsed ? target.closest("[data-step]")?.dataset.step : undefined;
    if (at !== undefined) dispatch({ type: "seek", step: Number(at) });
  };
  return html`<div class="anchor">
    <div
      class=${`answer${split ? " is-split" : ""}${whole ? " is-whole" : ""}`} data-type=${typeOf(run)} dir="auto" tabindex="0" ref=${text}
      role="group" aria-label=${msg`Prompt and answer`} onClick=${onClick}
    >
      ${!hidesPrompt && html`<${Prompt} run=${run} split=${split} isNow=${step === 0 && !(run.steps.length && isInherited(run, 0))} isSwept=${settled < 0} />`}
      <${AnswerTokens} state=${state} split=${split} />
    </div>
    ${
      (isCut || whole) &&
      html`<button
        class="answer-more" type="button" aria-label=${msg`All of the text`} title=${whole ? msg`Show two lines` : msg`Show all of the text`} aria-expanded=${whole}
        onClick=${() => setWhole(!whole)}
      >${whole ? "▴" : "▾"}</button>`
    }
    ${split && html`<p class="answer-key muted small">${KEY.map(([sign, meaning], i) => html`${i > 0 && " · "}<b>${sign}</b> ${meaning}`)}</p>`}
  </div>`;
}

/** @returns {boolean} whether some lines of the text are hidden */
function useCut(text, changes) {
  const [isCut, setCut] = useState(false);
  useLayoutEffect(() => {
    const element = text.current;
    if (!element) return undefined;
    const look = () => setCut(element.scrollHeight > element.clientHeight + ROUNDING_PX);
    const resized = new ResizeObserver(look);
    resized.observe(element);
    look();
    return () => resized.disconnect();
  }, changes);
  return isCut;
}

/** Renders the prompt once per run, spread over several frames: it can have hundreds of tokens, which never change. */
function Prompt({ run, split, isNow, isSwept }) {
  const count = useGradually(run.promptLength, { first: TOKENS_AT_ONCE, more: TOKENS_AT_ONCE, of: run });
  const { prompt } = useMemo(() => sentenceOf(run), [run]);
  const template = run.open.chat && !split;
  const pieces = split ? run.tokens.slice(0, run.promptLength) : prompt;
  const parts = Array.from(
    { length: Math.ceil(Math.min(count, pieces.length) / TOKENS_AT_ONCE) },
    (_, part) =>
      html`<${Memo} of=${PromptPart} key=${part} run=${run} pieces=${pieces} begin=${part * TOKENS_AT_ONCE} split=${split} />`,
  );
  const [computed, all, length] = [run.partialRows, run.prefillRows, run.promptLength].map(integer);
  const rows = run.awaited ? msg`${computed} of ${all} rows computed` : null;
  const label = plural(run.promptLength, form`Prompt, ${length} token`, form`Prompt, ${length} tokens`);
  const withTemplate = plural(
    run.promptLength,
    form`${length} token with the chat template`,
    form`${length} tokens with the chat template`,
  );
  return html`<span
    class=${`prompt${isNow ? " is-now" : ""}${isSwept ? " is-swept" : ""}`} role="group" aria-label=${label} title=${rows}
    >${parts}${template && html`${" "}<small class="badge answer-badge nowrap">${withTemplate}</small>${" "}`}</span
  >`;
}

function PromptPart({ run, pieces, begin, split }) {
  const changes = (run.open.changed?.changes ?? []).filter(({ position }) => position !== null);
  return pieces.slice(begin, begin + TOKENS_AT_ONCE).map((piece, i) => {
    const position = begin + i;
    const read = (split ? position : (piece.position ?? run.reused)) < run.reused;
    if (!split) return html`<span key=${position} class=${read ? "is-read" : ""} data-step="0">${piece.text}</span>`;
    const token = run.tokens[position];
    const here = changes.filter((change) => change.position === position);
    const title = [
      msg`position ${position}, token id ${token.id}`,
      ...here.map((change) => msg`Changed in this run: ${changeInWords(change, run.tokens)}`),
    ].join(". ");
    return html`<span key=${position} class=${`word${token.special ? " is-special" : ""}${read ? " is-read" : ""}${here.length ? " is-changed" : ""}`} data-step="0" title=${title}
      ><bdi class="token">${tokenLabel(token, NO_BREAK)}</bdi><small>${position}</small></span
    >`;
  });
}

/** Shows the tokens chosen so far. A click on one goes to the step that chose it. */
function AnswerTokens({ state, split }) {
  const { run, step } = state;
  const { steps } = run;
  const known = knownStep(state);
  const noted = useMemo(() => notedSteps(run.saved?.notes ?? []), [run]);
  const pieces = useMemo(() => sentenceOf(run).answer, [run, run.tokens.length]);
  const shown = steps.slice(0, known + 1);
  const goesOn = shown.length < steps.length || !run.close;
  return html`<span class="words" role="group" aria-label=${msg`Answer`}
    >${shown.map(({ data: { token } }, index) => {
      const isNoted = noted.includes(index);
      return html`<${Memo}
        of=${AnswerToken} key=${index} text=${split ? tokenLabel(token, NO_BREAK) : pieces[index]} kind=${kindOf(run, index, step)} split=${split}
        step=${index} forced=${Boolean(token.forced)} noted=${isNoted} title=${titleOf(run, index, known, isNoted)}
        time=${split ? timeOf(run, index, known) : null}
      />`;
    })}</span
  >${goesOn && html`<i class="caret" aria-hidden="true"></i>`}${!goesOn && html`${" "}<small class="badge answer-badge nowrap ending">${ending(run.close)}</small>`}`;
}

function AnswerToken({ text, kind, split, step, forced, noted, title, time }) {
  const classes = `word is-${kind}${forced ? " is-given" : ""}${noted ? " is-noted" : ""}`;
  if (!split) return html`<span class=${classes} data-step=${step} title=${title}>${text}</span>`;
  return html`<span class=${classes} data-step=${step} title=${title}><bdi class="token">${text}</bdi><small>${time}</small></span>`;
}

/** Scrolls the text, never the page, so that the newest marked token is visible. */
function keepInSight(text) {
  const words = text.querySelectorAll(".is-now, .is-new");
  const word = words[words.length - 1];
  if (!word) return;
  const bounds = text.getBoundingClientRect();
  const { top, bottom } = word.getBoundingClientRect();
  if (bottom > bounds.bottom) text.scrollTop += bottom - bounds.bottom + 2;
  else if (top < bounds.top) text.scrollTop -= bounds.top - top + 2;
}
