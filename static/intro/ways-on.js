/** Where the intro leads: three questions, and a prompt of one's own. */

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";
import { quoted } from "../facts/format.js";

/** @returns {{question: string, says: string, step: number, selection: Object}[]} */
export function waysOn({ run, look }) {
  const chosen = run.tokens[run.promptLength];
  const ways = [
    {
      question: "Why this word?",
      says: `Everything that was likely in place of ${quoted(chosen)}.`,
      step: 0,
      selection: { view: "tokens" },
    },
    {
      question: "Why a cache?",
      says: "What it keeps, byte by byte, and what that saves.",
      step: run.steps.length - 1,
      selection: { view: "cache" },
    },
  ];
  if (look) {
    ways.splice(1, 0, {
      question: "What does it look at?",
      says: `${quoted(run.tokens[look.query])} and ${quoted(run.tokens[look.key])}, and every other pair, in every head.`,
      step: run.stepOfQuery(look.query),
      selection: { view: "head", ...look },
    });
  }
  return ways;
}

export function WaysOn({ state, dispatch }) {
  const go = ({ step, selection }) => {
    dispatch({ type: "select", selection });
    dispatch({ type: "seek", step });
  };
  return html`<ul class="intro-ways">${waysOn(state).map(
    (way) =>
      html`<li key=${way.question}><button type="button" onClick=${() => go(way)}><b>${way.question}</b> <span>${way.says}</span></button></li>`,
  )}</ul>`;
}

/** A prompt of one's own, answered in the same six moments. */
export function OwnPrompt({ state, dispatch, controller, onClose }) {
  const field = useRef(null);
  useEffect(() => {
    field.current.focus();
    field.current.select();
  }, []);
  const submit = (event) => {
    event.preventDefault();
    controller.submit();
  };
  const onKeyDown = (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      onClose();
    }
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) submit(event);
  };
  const { problem, held, opening } = state;
  return html`<form class="intro-own" aria-label="New run" onSubmit=${submit} novalidate>
    <textarea
      id="prompt" rows="3" aria-label="Prompt" placeholder="Begin a sentence, and the model goes on with it" spellcheck=${false}
      aria-invalid=${problem?.field === "prompt"} aria-describedby=${problem?.field === "prompt" ? "problem" : undefined}
      ref=${field} value=${state.prompt} onInput=${({ target }) => dispatch({ type: "prompt", prompt: target.value })} onKeyDown=${onKeyDown}
    ></textarea>
    <div class="intro-actions">
      <button class="intro-main" type="submit">${held || opening ? "Waiting…" : "Run"}</button>
      <button class="intro-other" type="button" onClick=${onClose}>Cancel</button>
    </div>
  </form>`;
}
