/** The prompt, its answer so far, and a caret for the next token. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { ending } from "../../shared/facts/endings.js";
import { sentenceOf } from "../../shared/facts/prose.js";
import { useScroll } from "../ui/use-scroll.js";

/** Progress, 0…1, of a moment at which the chosen token appears. */
const APPEARS_AT = 0.55;

/** @param {{run: Object, look: Object|null, moment: string, progress: number, text: Object}} props `text`: a ref to it */
export function Sentence({ run, moment, progress, look, text }) {
  const { prompt, answer } = useMemo(() => sentenceOf(run), [run, run.tokens.length]);
  const shown = answer.slice(0, answered(moment, progress, answer.length));
  const marked = moment === "look" ? [look.query, look.key] : [];
  const whole = run.close && shown.length === answer.length;
  useScroll((element) => element.scrollTo({ top: element.scrollHeight }), text, [shown.length]);
  return html`<p class="intro-sentence word-cached breaks" ref=${text} dir="auto"
    >${prompt.map(({ position, text: piece }) =>
      marked.includes(position)
        ? html`<mark key=${position}>${piece}</mark>`
        : html`<span key=${position}>${piece}</span>`,
    )}${shown.map((piece, step) => html`<span class=${step === NEW[moment] ? "is-new" : "is-answer"}>${piece}</span>`)}${
      !whole && html`<i class="intro-caret" aria-hidden="true"></i>`
    }</p>${whole && html`<p class="muted">${ending(run.close)}</p>`}`;
}

/** Index of the answer's token that a moment explains. */
const NEW = { choice: 0, cache: 0, decode: 0, again: 1 };

function answered(moment, progress, length) {
  if (moment === "pace" || moment === "without") return length;
  if (moment === "choice") return progress >= APPEARS_AT ? 1 : 0;
  return moment in NEW ? NEW[moment] + (moment !== "cache" && progress >= 1 ? 2 : 1) : 0;
}
