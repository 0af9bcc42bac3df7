/** The last step: the largest shares of the vocabulary, and the token that was chosen. */

import { html } from "htm/preact";
import { integer, percent } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { settingsInWords } from "../../next-token/sampling.js";
import { bestGuesses } from "./facts.js";

const SHOWN = 6;

export function Choice({ run, step }) {
  const best = bestGuesses(run.steps[step], SHOWN);
  const others = run.open.model.vocab - best.length;
  const rest = Math.max(0, 1 - best.reduce((total, { prob }) => total + prob, 0));
  return html`<ol class="likely stack tight">
    ${best.map(
      ({ token, prob, chosen }) => html`<li key=${token.id} class=${chosen ? "is-chosen" : ""}>
        <${Token} token=${token} limit=${11} />
        <span class="track is-whole"><i style=${`width:${(100 * prob).toFixed(1)}%`}></i></span>
        <b>${percent(prob)}</b>
        ${chosen && html`<span class="visually-hidden">chosen</span>`}
      </li>`,
    )}
    <li class="likely-rest muted">${integer(others)} others together ${percent(rest)}</li>
  </ol>`;
}

/** @returns {string} how the token was taken from the shares */
export function howChosen(run, step) {
  const { token } = run.steps[step].data;
  const { sampling } = run.open;
  if (token.forced) return "The branch put this token here.";
  if (sampling.strategy === "greedy") return "Greedy: the largest share is taken.";
  const drawn = `Drawn at random, ${settingsInWords(sampling)}, seed ${sampling.seed}`;
  return `${drawn}: after that it had ${percent(token.prob)}.`;
}
