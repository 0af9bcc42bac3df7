/** The likeliest next tokens under the run's settings or what-if settings, computed from the stored logits. */

import { html } from "htm/preact";
import { branchRefusal } from "../../shared/facts/branching.js";
import { followsSameTokens } from "../../shared/facts/changes.js";
import { integer, percent, quoted, tokenText } from "../../shared/facts/format.js";
import { Token } from "../../shared/ui/token.js";
import { form, msg, nodes, plural } from "../../shared/words/msg.js";
import { isAwaited } from "../state/layer-sweep.js";
import { Card } from "../ui/card.js";
import { distribution } from "./sampling.js";

const SHOWN = 4;
const NAME = msg`Next token`;
// Not language: names of tensors (lit.js).
const NAMES = "logits choice";
const WAITING = msg`The candidates appear after the last layer.`;

/** @param {Object} props as of every part; `layersToGo`: a component with the number of layers still to compute */
export function NextToken({ state, dispatch, controller, layersToGo }) {
  const { run, step, settled } = state;
  const opens = { name: NAME, names: NAMES, view: "tokens", question: msg`Why this token?` };
  if (!run?.shows)
    return html`<${Card} ...${opens} number="" says=${msg`The candidates appear with the first step of a run.`}><${Placeholders} /><//>`;
  if (isAwaited({ run, step: settled }) || settled < step)
    return html`<${Card} ...${opens} dispatch=${dispatch} number=${layersToGo} says=${WAITING}><${Placeholders} /><//>`;
  const { rows, number, sentence } = listed(state, controller);
  const after = quoted(run.tokens[run.lastQueryOfStep(step)]);
  const title = html`${msg`Next token after ${after}`} <small>${msg`step ${step}`}</small>`;
  return html`<${Card} ...${opens} dispatch=${dispatch} title=${title} origin="computed" number=${number} says=${sentence}>
    <ol class="candidates stack tight">${rows}</ol>
  <//>`;
}

/** In place of the number while layers are being computed. */
export function LayersToGo({ state: { run, reveal } }) {
  const layers = run?.layers ?? 0;
  if (!run?.steps.length) return plural(layers, form`${layers} layer`, form`${layers} layers`);
  const left = Math.max(0, layers - Math.floor(reveal));
  return plural(left, form`${left} layer to go`, form`${left} layers to go`);
}

function Placeholders() {
  return html`<ol class="candidates stack tight" aria-hidden="true">${Array.from({ length: SHOWN }, (_, rank) => html`<li key=${rank} class="is-placeholder"></li>`)}</ol>`;
}

/** The candidates of the step shown, the probability of the chosen one, and how it was chosen. */
function listed({ run, step, whatIf, branching, original }, controller) {
  const { data, topIds } = run.steps[step];
  const settings = whatIf ?? run.sampling;
  const result = distributionAt(run, step, settings);
  const count = Math.min(SHOWN, data.top_tokens.length);
  const chosen = topIds.indexOf(data.token.id);
  const places = Array.from({ length: count }, (_, rank) => ({ rank, token: data.top_tokens[rank] }));
  if (chosen >= count) places[count - 1] = { rank: chosen, token: data.token };
  const before = shareBefore({ run, step, original: original?.run ?? null, settings });
  const share = chosen < 0 ? data.token.prob : result.final[chosen];
  return {
    rows: places.map(
      ({ rank, token }) => html`<${Candidate}
      key=${rank} rank=${rank} token=${token} chosen=${rank === chosen ? data.token : null}
      result=${result} before=${before(token)} refusal=${branchRefusal(run, step, token)} branching=${branching}
      onBranch=${() => controller.branch(token)}
    />`,
    ),
    number: share === null ? "" : percent(share, 0),
    sentence: sentenceOf(data.token, chosen, { run, whatIf }),
  };
}

function distributionAt(run, step, settings) {
  const { data, topLogits, tailCounts } = run.steps[step];
  return distribution({ topLogits, tailCounts, tail: data.tail }, settings);
}

/** @returns {(token: Object) => number|null} a token's probability in the original of a changed run, where the step follows the same tokens */
function shareBefore({ run, step, original, settings }) {
  if (!run.open.changed || !original?.open || !followsSameTokens(original, run, step)) return () => null;
  const { topIds } = original.steps[step];
  const { final } = distributionAt(original, step, settings);
  return ({ id }) => final[topIds.indexOf(id)] ?? null;
}

function sentenceOf(token, rank, { run, whatIf }) {
  const name = html`<span class="token">${quoted(token)}</span>`;
  const vocab = integer(run.open.model.vocab);
  if (whatIf) return nodes`The probability of ${name} with the what-if settings. The run does not change.`;
  if (token.forced) return nodes`${name} was set by this branch.`;
  if (rank === 0) return nodes`${name} is the likeliest of ${vocab} tokens.`;
  if (!run.open.sampling) return nodes`${name} was chosen. It is not the likeliest of ${vocab} tokens.`;
  const listed = integer(run.steps[0].topIds.length);
  if (rank < 0) return nodes`${name} was drawn. It is not among the ${listed} likeliest of ${vocab} tokens.`;
  return nodes`${name} was drawn. It is number ${rank + 1} by logit of ${vocab} tokens.`;
}

function Candidate({ rank, token, chosen, result, before, refusal, branching, onBranch }) {
  const cut = result.cut[rank];
  const share = cut ? result.scaled[rank] : result.final[rank];
  const starting = branching?.id === token.id;
  const content = html`<${Token} token=${token} limit=${12} />
    <span class="track anchor"><i style=${`width:${(100 * share).toFixed(1)}%`}></i>${
      starting ? html`<em>${msg`starting a branch…`}</em>` : cut && html`<em>${msg`cut by ${cut}, was:`}</em>`
    }</span>
    <b>${before !== null && html`<small class="muted" title=${msg`without the changes`}>${percent(before)} → </small>`}${percent(share)}</b>`;
  const about = cut
    ? msg`Number ${rank + 1} by logit; ${percent(share)} before ${cut} cut it.`
    : msg`Number ${rank + 1} by logit.`;
  return html`<li class=${`${chosen ? "is-chosen" : ""} ${cut ? "is-cut" : ""} ${before === null ? "" : "has-before"}`}>
    ${
      refusal
        ? html`<span class="candidate fill" title=${`${about} ${refusal}`}>${content}</span>`
        : html`<button
            type="button" class="candidate fill" aria-disabled=${Boolean(branching)} onClick=${onBranch}
            aria-label=${msg`Branch with ${tokenText(token)} (${percent(share)})`}
            title=${`${about} ${msg`Press to branch with this token.`}`}
          >${content}</button>`
    }
    ${chosen && html`<span class="visually-hidden">${chosen.forced ? msg`set by this branch` : msg`chosen in this run`}</span>`}
  </li>`;
}
