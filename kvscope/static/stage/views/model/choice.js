/** The last part: the most likely tokens, and the chosen one. */

import { html } from "htm/preact";
import { integer, percent } from "../../../shared/facts/format.js";
import { settingsInWords } from "../../../shared/facts/settings.js";
import { Token } from "../../../shared/ui/token.js";
import { msg } from "../../../shared/words/msg.js";
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
        ${chosen && html`<span class="visually-hidden">${msg`chosen`}</span>`}
      </li>`,
    )}
    <li class="likely-rest muted">${msg`${integer(others)} others together: ${percent(rest)}`}</li>
  </ol>`;
}

/** @returns {string} how the token was chosen from the probabilities */
export function howChosen(run, step) {
  const { token } = run.steps[step].data;
  const { sampling } = run.open;
  if (token.forced) return msg`This token was set by the branch.`;
  if (!sampling) return msg`It is not known how this token was chosen.`;
  if (sampling.strategy === "greedy") return msg`Greedy: the most likely token is chosen.`;
  return msg`Drawn at random with ${settingsInWords(sampling)}, seed ${sampling.seed}. After these settings, its probability was ${percent(token.prob)}.`;
}
