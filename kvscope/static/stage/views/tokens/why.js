/** "Why not this token?": looks up any word in the vocabulary and answers in a few sentences. */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { branchRefusal } from "../../../shared/facts/branching.js";
import { quoted } from "../../../shared/facts/format.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";
import { msg } from "../../../shared/words/msg.js";
import { whyToken } from "./token-path.js";

/**
 * @param {{path: Object, run: Object, step: number, text: string, most: number, search: Object, lookup: Object|null, branching: Object|null,
 *   onText: Function, onLookUp: Function, onBranch: Function}} props `most`: characters of `text`; `lookup`: {token, rank, logit}; `search`: {status, problem,
 *   choices} for the typed word, `choices` each like `lookup`
 */
export function Why({ path, run, step, text, most, search, lookup, branching, onText, onLookUp, onBranch }) {
  const field = useId();
  const word = text.trim();
  return html`<section class="why box still" data-names="why" aria-label=${msg`Why not this token`}>
    <p class="why-field line on-line">
      <label for=${field}>${msg`Why not this token?`}</label>
      <input
        id=${field} type="search" placeholder=${msg`any word`} autocomplete="off" maxlength=${most} value=${text}
        onInput=${(event) => onText(event.currentTarget.value)}
      />
    </p>
    <div class="why-answer">
      <p role="status">
        ${lookup ? html`<${Answer} path=${path} lookup=${lookup} />` : (waitingText(word, search) ?? msg`Type any word, or press a candidate's name above.`)}
      </p>
      ${
        lookup &&
        html`<p class="why-more row on-line muted">
          ${search.choices.length > 1 && html`<${Choices} choices=${search.choices} lookup=${lookup} onLookUp=${onLookUp} />`}
          <${BranchButton} run=${run} step=${step} token=${lookup.token} branching=${branching} onBranch=${onBranch} />
          ${word && lookup.whole === false && html`<span>${msg`“${word}” has several tokens; this is the first.`}</span>`}
        </p>`
      }
    </div>
  </section>`;
}

function waitingText(word, { status, problem }) {
  if (!word) return null;
  if (status === "unavailable") return msg`The model is not ready. You can look up any word when it is.`;
  if (status === "none")
    return msg`The logits of other tokens are not stored with this session, and its model cannot be asked for them here. You can look up the listed tokens.`;
  if (status === "failed") return problem.detail || problem.title;
  return msg`Looking up “${word}”…`;
}

function Answer({ path, lookup }) {
  const { verdict, possible, because } = whyToken(path, lookup);
  return html`<b class=${possible ? "word-output" : "word-bad"}>${verdict}</b> ${because} <${Badge} origin="computed" />`;
}

function Choices({ choices, lookup, onLookUp }) {
  return html`<span class="row tight" role="group" aria-label=${msg`Tokens with this text`}>
    ${choices.map(
      (choice) => html`<button class="button is-choice small"
      key=${choice.token.id} type="button" aria-pressed=${choice.token.id === lookup.token.id} onClick=${() => onLookUp(choice)}
    ><${Token} token=${choice.token} /></button>`,
    )}
  </span>`;
}

function BranchButton({ run, step, token, branching, onBranch }) {
  if (branchRefusal(run, step, token)) return null;
  const starting = branching?.id === token.id;
  return html`<button type="button" class="button small" aria-disabled=${Boolean(branching)} onClick=${() => onBranch(token)}>
    ${starting ? msg`Starting a branch…` : msg`Branch with ${quoted(token)}`}
  </button>`;
}
