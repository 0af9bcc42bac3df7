/** What may come next: candidates under the run's settings, or under what-if ones, from the stored logits at once. */

import { html } from "htm/preact";
import { branchRefusal } from "../facts/branching.js";
import { fixed, integer, percent, quoted } from "../facts/format.js";
import { NO_BRANCH } from "../facts/saved-session.js";
import { isAwaited, whenSettled } from "../state/settled.js";
import { Badge } from "../ui/badge.js";
import { OpenView } from "../ui/open-view.js";
import { Token } from "../ui/token.js";
import { Term } from "../words/term.js";
import { distribution } from "./sampling.js";
import { SamplingSliders } from "./sampling-sliders.js";
import { WhatIf } from "./what-if.js";

const SHOWN = 6;
const NOTE =
  "The 256 largest logits are exact; the other tokens are a histogram of 256 bins, so their share is approximate.";

export function NextToken({ state: now, dispatch, controller }) {
  const state = whenSettled(now);
  const { run } = state;
  return html`<section class="next-token facts" aria-label="Next token">
    ${
      run?.shows
        ? html`<${Candidates} state=${state} dispatch=${dispatch} controller=${controller} />`
        : html`<h2>Next token</h2>
          <p class="facts-empty">The model's candidates appear with the first step of a run.</p>`
    }
  </section>`;
}

/** While the run is awaited, the places for the candidates, and the sliders. */
function Candidates({ state, dispatch, controller }) {
  const { run, step, sampling: next } = state;
  const used = run.open.sampling;
  const settings = state.whatIf ?? used;
  const awaited = isAwaited(state);
  const after = run.tokens[run.lastQueryOfStep(Math.max(0, step))];
  const { candidates, sum } = awaited ? places() : listed(state, settings, controller);
  return html`<div class="facts-head">
      <h2>Next token after ${quoted(after)} <small>step ${Math.max(0, step)}</small> <${Badge} origin="computed" /></h2>
      <${OpenView} view="tokens" dispatch=${dispatch}>Why this token?<//>
    </div>
    <div class="next-body">
      <ol class="candidates">${candidates}</ol>
      <div class="next-side">
        <${SamplingSliders} settings=${settings} dispatch=${dispatch} />
        <${WhatIf} settings=${settings} used=${used} next=${next} dispatch=${dispatch} />
      </div>
    </div>
    <p class="next-sum" title=${NOTE}>${sum}</p>`;
}

function places() {
  return {
    candidates: Array.from(
      { length: SHOWN },
      (_, rank) => html`<li key=${rank}>
      <span class="candidate"><span class="token">…</span><span class="candidate-bar"></span><b>…</b></span>
    </li>`,
    ),
    sum: "The model's candidates appear with the first step.",
  };
}

/** The candidates of the step in sight, and a line that sums them and the others up. */
function listed({ run, step, branching }, settings, controller) {
  const { data, topIds, topLogits, tailCounts } = run.steps[step];
  const result = distribution({ topLogits, tailCounts, tail: data.tail }, settings);
  const count = Math.min(SHOWN, data.top_tokens.length);
  const chosen = topIds.indexOf(data.token.id);
  const rows = Array.from({ length: count }, (_, rank) => ({ rank, token: data.top_tokens[rank] }));
  if (chosen >= count) rows[count - 1] = { rank: chosen, token: data.token };
  return {
    candidates: rows.map(
      ({ rank, token }) => html`<${Candidate}
      key=${rank} rank=${rank} token=${token} chosen=${rank === chosen ? data.token : null} logit=${topLogits[rank]}
      result=${result} refusal=${branchRefusal(run, step, token)} branching=${branching}
      onBranch=${() => controller.branch(token)}
    />`,
    ),
    sum: html`${summary(result, data, run, count)}
      ${chosen < 0 && ` ${data.token.forced ? "This branch was given" : "The run took"} ${quoted(data.token)}, which is not among the ${topIds.length} largest.`}`,
  };
}

function Candidate({ rank, token, chosen, logit, result, refusal, branching, onBranch }) {
  const cut = result.cut[rank];
  const share = cut ? result.scaled[rank] : result.final[rank];
  const width = 100 * share;
  const starting = branching?.id === token.id;
  const content = html`<${Token} token=${token} limit=${12} />
    <span class="candidate-bar"><i style=${`width:${width.toFixed(1)}%`}></i>${
      starting ? html`<em>starting a branch…</em>` : cut && html`<em>cut by ${cut}, was</em>`
    }</span>
    <b>${percent(share)}</b>
    <span class="candidate-logit" title="raw logit">${fixed(logit, 2)}</span>`;
  const about = `token ${rank + 1} by logit${cut ? `; ${percent(share)} before it was cut by ${cut}` : ""}`;
  return html`<li class=${`${chosen ? "is-chosen" : ""} ${cut ? "is-cut" : ""}`}>
    ${
      refusal
        ? html`<span class="candidate" title=${`${about}. ${refusal}`}>${content}</span>`
        : html`<button
            type="button" class="candidate" aria-disabled=${Boolean(branching)} onClick=${onBranch}
            title=${`${about}. Branch: go on with this token instead`}
          >
            <span class="visually-hidden">Branch with</span>${content}
          </button>`
    }
    ${chosen && html`<span class="visually-hidden">${chosen.forced ? "given by this branch" : "chosen in this run"}</span>`}
  </li>`;
}

function summary(result, data, run, listed) {
  const { vocab } = run.open.model;
  const others = 1 - result.final.slice(0, listed).reduce((total, share) => total + share, 0);
  const kept =
    result.keptTopP < vocab
      ? `${result.approximate ? "about " : ""}${integer(result.keptTopP)} of ${integer(vocab)} tokens kept`
      : `all ${integer(vocab)} tokens kept`;
  return html`${kept} · all others ${percent(Math.max(0, others))} · <${Term} id="entropy">entropy<//>${" "}
    ${fixed(result.entropy, 2)} bits (raw ${fixed(data.entropy, 2)}) ·${" "}
    ${run.saved ? NO_BRANCH : html`click a token to <${Term} id="fork">branch<//>`}`;
}
