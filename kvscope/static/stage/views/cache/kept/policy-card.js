/** One policy: which positions stay, step by step and in the selected step, and the text that the model then writes. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { percent, tokenLabel } from "../../../../shared/facts/format.js";
import { proseOf, readable } from "../../../../shared/facts/prose.js";
import { positionsInWords } from "../../../../shared/words/counts.js";
import { msg } from "../../../../shared/words/msg.js";
import { sameTokens, shareRead, shelfOf } from "./facts.js";
import { Holes } from "./holes.js";
import { LostHeads } from "./lost-heads.js";
import { NAMES, resultText, stayingText } from "./words.js";

/**
 * @param {{run: Object, step: number, selection: Object, budget: number, policy: string, given: Object|null, own: Object|null,
 *   result: Object|null, loss: Object|null, dispatch: Function}} props `result`, `loss`: of `facts.js`, once `given` has ended
 */
export function PolicyCard({ run, step, selection, budget, policy, given, own, result, loss, dispatch }) {
  const name = NAMES[policy];
  const onSelect = (layer, head) => dispatch({ type: "select", selection: { layer, head } });
  return html`<section class="kept-card" aria-label=${name}>
    <h4>${name}</h4>
    <p class="muted small">${stayingText(policy, budget)}</p>
    ${result && html`<p class="kept-result" role="status">${resultText(run, result, loss)}</p>`}
    ${
      given?.steps.length > 0 &&
      html`<h5>${msg`Positions that each step can read`}</h5>
        <${Holes} twin=${given} name=${name} current=${step} onPick=${(to) => dispatch({ type: "seek", step: to })} />
        <${Shelf} run=${run} twin=${given} step=${Math.min(step, given.steps.length - 1)} />`
    }
    ${
      loss &&
      html`<h5>${msg`Attention lost by each head`}</h5>
        <${LostHeads} run=${run} loss=${loss} selection=${selection} onSelect=${onSelect} />`
    }
    ${own?.steps.length > 0 && html`<${OwnText} run=${run} twin=${own} />`}
  </section>`;
}

/** The tokens of the selected step; dropped ones are holes, and many of them in a row are one hole. */
function Shelf({ run, twin, step }) {
  const pieces = useMemo(() => shelfOf(shareRead(twin, step)), [twin, step]);
  const { firstQuery } = twin.steps[step];
  return html`<h5>${msg`Tokens in step ${step}`}</h5>
    <p class="kept-shelf scrolls">
      ${pieces.map(({ first, last, share }) => {
        if (last > first)
          return html`<span key=${first} class="kept-token is-dropped" title=${msg`${positionsInWords(first, last)}: dropped`}>${msg`${last - first + 1} dropped`}</span>`;
        const isNew = first >= firstQuery;
        const state = isNew ? "is-new" : share === 0 ? "is-dropped" : "";
        return html`<bdi key=${first} class=${`kept-token ${state}`} style=${`--share:${share}`} title=${shareText(first, share, isNew)}>${tokenLabel(run.tokens[first], 12)}</bdi>`;
      })}
    </p>`;
}

function shareText(position, share, isNew) {
  if (isNew) return msg`Position ${position}: computed in this step`;
  if (share === 0) return msg`Position ${position}: dropped`;
  return share === 1
    ? msg`Position ${position}: in the cache`
    : msg`Position ${position}: in the cache of ${percent(share, 0)} of all KV heads`;
}

function OwnText({ run, twin }) {
  const same = sameTokens(run, twin);
  const pieces = proseOf(twin.steps.map(({ data }) => data.token)).map(readable);
  const text = (from, to) => pieces.slice(from, to).join("");
  return html`<h5>${msg`Text that it writes by its own choices`}</h5>
    <p class="kept-text scrolls">
      <span class="muted">${text(0, same)}</span><mark>${text(same)}</mark>
      ${twin.close && same === run.steps.length && html` <small class="muted">${msg`(the same text)`}</small>`}
    </p>`;
}
