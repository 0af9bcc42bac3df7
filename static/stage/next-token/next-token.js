/** What may come next: the likeliest tokens under the run's settings, or under what-if ones, from the stored logits at once. */

import { html } from "htm/preact";
import { branchRefusal } from "../../shared/facts/branching.js";
import { counted, integer, percent, quoted } from "../../shared/facts/format.js";
import { isAwaited } from "../../shared/state/settled.js";
import { Card } from "../../shared/ui/card.js";
import { Token } from "../../shared/ui/token.js";
import { distribution } from "./sampling.js";

const SHOWN = 4;
const NAME = "Next token";

/** @param {Object} props as of every part; `layersToGo`: how many layers the sweep has before it, which moves with the clock */
export function NextToken({ state, dispatch, controller, layersToGo }) {
  const { run, step, settled } = state;
  const opens = { name: NAME, view: "tokens", question: "Why this token?" };
  if (!run?.shows)
    return html`<${Card} ...${opens} number="" says="The model's candidates appear with the first step of a run."><${Places} /><//>`;
  if (isAwaited({ run, step: settled }) || settled < step)
    return html`<${Card} ...${opens} dispatch=${dispatch} number=${layersToGo} says=${SOON}><${Places} /><//>`;
  const { rows, number, says } = listed(state, controller);
  const after = run.tokens[run.lastQueryOfStep(step)];
  const title = html`${NAME} after ${quoted(after)} <small>step ${step}</small>`;
  return html`<${Card} ...${opens} dispatch=${dispatch} title=${title} origin="computed" number=${number} says=${says}>
    <ol class="candidates stack tight">${rows}</ol>
  <//>`;
}

const SOON = "The candidates appear here when the amber column has reached the top.";

/** While the sweep is on its way. */
export function LayersToGo({ state: { run, reveal } }) {
  if (!run?.steps.length) return counted(run?.layers ?? 0, "layer");
  return `${counted(Math.max(0, run.layers - Math.floor(reveal)), "layer")} to go`;
}

function Places() {
  return html`<ol class="candidates stack tight" aria-hidden="true">${Array.from({ length: SHOWN }, (_, rank) => html`<li key=${rank} class="is-place"></li>`)}</ol>`;
}

/** The candidates of the step in sight, the chosen one's share, and how it came to be chosen. */
function listed({ run, step, whatIf, branching }, controller) {
  const { data, topIds, topLogits, tailCounts } = run.steps[step];
  const settings = whatIf ?? run.open.sampling;
  const result = distribution({ topLogits, tailCounts, tail: data.tail }, settings);
  const count = Math.min(SHOWN, data.top_tokens.length);
  const chosen = topIds.indexOf(data.token.id);
  const places = Array.from({ length: count }, (_, rank) => ({ rank, token: data.top_tokens[rank] }));
  if (chosen >= count) places[count - 1] = { rank: chosen, token: data.token };
  const share = chosen < 0 ? data.token.prob : result.final[chosen];
  return {
    rows: places.map(
      ({ rank, token }) => html`<${Candidate}
      key=${rank} rank=${rank} token=${token} chosen=${rank === chosen ? data.token : null}
      result=${result} refusal=${branchRefusal(run, step, token)} branching=${branching}
      onBranch=${() => controller.branch(token)}
    />`,
    ),
    number: share === null ? "" : percent(share, 0),
    says: says(data.token, chosen, { run, whatIf, settings }),
  };
}

function says(token, rank, { run, whatIf, settings }) {
  const name = html`<span class="token">${quoted(token)}</span>`;
  const of = `of ${integer(run.open.model.vocab)} tokens`;
  if (whatIf)
    return html`${name}, what if it were ${settings.strategy === "greedy" ? "greedy" : "drawn so"}. Nothing is run again.`;
  if (token.forced) return html`${name} was given by this branch.`;
  if (rank === 0) return html`${name} is the likeliest ${of}.`;
  if (rank < 0)
    return html`${name} was drawn; it is not among the ${integer(run.steps[0].topIds.length)} likeliest ${of}.`;
  return html`${name} was drawn, number ${rank + 1} ${of}.`;
}

function Candidate({ rank, token, chosen, result, refusal, branching, onBranch }) {
  const cut = result.cut[rank];
  const share = cut ? result.scaled[rank] : result.final[rank];
  const starting = branching?.id === token.id;
  const content = html`<${Token} token=${token} limit=${12} />
    <span class="track anchor"><i style=${`width:${(100 * share).toFixed(1)}%`}></i>${
      starting ? html`<em>starting a branch…</em>` : cut && html`<em>cut by ${cut}, was</em>`
    }</span>
    <b>${percent(share)}</b>`;
  const about = `token ${rank + 1} by logit${cut ? `; ${percent(share)} before it was cut by ${cut}` : ""}`;
  return html`<li class=${`${chosen ? "is-chosen" : ""} ${cut ? "is-cut" : ""}`}>
    ${
      refusal
        ? html`<span class="candidate fill" title=${`${about}. ${refusal}`}>${content}</span>`
        : html`<button
            type="button" class="candidate fill" aria-disabled=${Boolean(branching)} onClick=${onBranch}
            title=${`${about}. Branch: go on with this token instead`}
          >
            <span class="visually-hidden">Branch with</span>${content}
          </button>`
    }
    ${chosen && html`<span class="visually-hidden">${chosen.forced ? "given by this branch" : "chosen in this run"}</span>`}
  </li>`;
}
