/** What may come next: candidates under the run's settings, or under what-if ones, from the stored logits at once. */

import { html } from "htm/preact";
import { fixed, integer, percent, quoted } from "../model/format.js";
import { distribution, sameSettings, settingsInWords } from "../model/sampling.js";
import { Badge, Token } from "./bits.js";
import { SamplingSliders } from "./sampling-sliders.js";

const SHOWN = 6;
const NOTE =
  "The 256 largest logits are exact; the other tokens are a histogram of 256 bins, so their share is approximate.";

export function NextToken({ state, dispatch }) {
  const { run, step } = state;
  return html`<section class="next-token facts" aria-label="Next token">
    ${
      run?.steps.length
        ? html`<${Candidates}
            run=${run} step=${step} settings=${state.whatIf ?? run.open.sampling} next=${state.sampling} dispatch=${dispatch}
          />`
        : html`<h2>Next token</h2>
          <p class="facts-empty">The model's candidates appear with the first step.</p>`
    }
  </section>`;
}

function Candidates({ run, step, settings, next, dispatch }) {
  const { data, topIds, topLogits, tailCounts } = run.steps[step];
  const result = distribution({ topLogits, tailCounts, tail: data.tail }, settings);
  const used = run.open.sampling;
  const listed = Math.min(SHOWN, data.top_tokens.length);
  const chosen = topIds.indexOf(data.token.id);
  const rows = Array.from({ length: listed }, (_, rank) => ({ rank, token: data.top_tokens[rank] }));
  if (chosen >= listed) rows[listed - 1] = { rank: chosen, token: data.token };
  const most = Math.max(...result.final);
  const after = run.tokens[run.lastQueryOfStep(step)];
  return html`<h2>Next token after ${quoted(after)} <small>step ${step}</small> <${Badge} origin="computed" /></h2>
    <div class="next-body">
      <ol class="candidates">
        ${rows.map(({ rank, token }) => html`<${Candidate}
          key=${rank} rank=${rank} token=${token} chosen=${rank === chosen} logit=${topLogits[rank]}
          result=${result} most=${most}
        />`)}
      </ol>
      <div class="next-side">
        <${SamplingSliders} settings=${settings} dispatch=${dispatch} />
        <${WhatIf} settings=${settings} used=${used} next=${next} dispatch=${dispatch} />
      </div>
    </div>
    <p class="next-sum" title=${NOTE}>
      ${summary(result, data, run, rows.length)}
      ${chosen < 0 && ` The run took ${quoted(data.token)}, which is not among the 256 largest.`}
    </p>`;
}

function Candidate({ rank, token, chosen, logit, result, most }) {
  const cut = result.cut[rank];
  const share = cut ? result.scaled[rank] : result.final[rank];
  const width = Math.min(100, (share / most) * 100);
  return html`<li
    class=${`${chosen ? "is-chosen" : ""} ${cut ? "is-cut" : ""}`}
    title=${`token ${rank + 1} by logit${cut ? `; ${percent(share)} before it was cut by ${cut}` : ""}`}
  >
    <${Token} token=${token} limit=${12} />
    <span class="candidate-bar"><i style=${`width:${width.toFixed(1)}%`}></i>${cut && html`<em>cut by ${cut}</em>`}</span>
    <b>${percent(share)}</b>
    <span class="candidate-logit" title="raw logit">${fixed(logit, 2)}</span>
    ${chosen && html`<span class="visually-hidden">chosen in this run</span>`}
  </li>`;
}

function summary(result, data, run, listed) {
  const { vocab } = run.open.model;
  const others = 1 - result.final.slice(0, listed).reduce((total, share) => total + share, 0);
  const kept =
    result.keptTopP < vocab
      ? `${result.approximate ? "about " : ""}${integer(result.keptTopP)} of ${integer(vocab)} tokens kept`
      : `all ${integer(vocab)} tokens kept`;
  const bits = `entropy ${fixed(result.entropy, 2)} bits (raw ${fixed(data.entropy, 2)})`;
  return `${kept} · all others ${percent(Math.max(0, others))} · ${bits}`;
}

function WhatIf({ settings, used, next, dispatch }) {
  if (sameSettings(settings, used))
    return html`<p class="next-note">These are the run's own settings. Move a slider: nothing is run again.</p>`;
  const { strategy, temperature, top_k, top_p } = settings;
  const use = () => dispatch({ type: "sampling", patch: { strategy, temperature, top_k, top_p } });
  return html`<p class="next-note is-what-if">What if. This run used ${settingsInWords(used)}.</p>
    <p class="next-actions">
      <button
        type="button" title="Reset to the run's own" aria-label="Reset to the run's own"
        onClick=${() => dispatch({ type: "whatIf", patch: null })}
      >Reset</button>
      ${
        sameSettings(settings, next)
          ? html`<span>the next run uses these</span>`
          : html`<button type="button" onClick=${use}>Use for the next run</button>`
      }
    </p>`;
}
