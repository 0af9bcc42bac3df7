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
 * @param {{path: Object, run: Object, step: number, text: string, most: number, found: Object, asked: Object|null, branching: Object|null,
 *   onText: Function, onAsk: Function, onBranch: Function}} props `most`: characters of `text`; `asked`: {token, rank, logit}; `found`: {status, problem,
 *   choices} for the typed word, `choices` each like `asked`
 */
export function Why({ path, run, step, text, most, found, asked, branching, onText, onAsk, onBranch }) {
  const field = useId();
  return html`<section class="why box still" aria-label=${msg`Why not this token`}>
    <p class="why-ask line on-line">
      <label for=${field}>${msg`Why not this token?`}</label>
      <input
        id=${field} type="search" placeholder=${msg`any word`} autocomplete="off" maxlength=${most} value=${text}
        onInput=${(event) => onText(event.currentTarget.value)}
      />
    </p>
    <div class="why-answer">
      <p role="status">
        ${asked ? html`<${Answer} path=${path} asked=${asked} />` : (waitingText(text, found) ?? msg`Type any word, or press a candidate's name above.`)}
      </p>
      ${
        asked &&
        html`<p class="why-more row on-line muted">
          ${found.choices.length > 1 && html`<${Choices} choices=${found.choices} asked=${asked} onAsk=${onAsk} />`}
          <${BranchButton} run=${run} step=${step} token=${asked.token} branching=${branching} onBranch=${onBranch} />
          ${text.trim() && asked.whole === false && html`<span>${msg`“${text.trim()}” has several tokens; this is the first.`}</span>`}
        </p>`
      }
    </div>
  </section>`;
}

function waitingText(text, { status, problem }) {
  if (!text.trim()) return null;
  if (status === "unavailable") return msg`The model is loading. You can look up any word when it is ready.`;
  if (status === "none")
    return msg`The logits of other tokens are not stored with this session, and its model does not run here. You can look up the listed tokens.`;
  if (status === "failed") return problem.detail || problem.title;
  return msg`Looking up “${text.trim()}”…`;
}

function Answer({ path, asked }) {
  const { verdict, possible, because } = whyToken(path, asked);
  return html`<b class=${possible ? "word-output" : "word-bad"}>${verdict}</b> ${because} <${Badge} origin="computed" />`;
}

function Choices({ choices, asked, onAsk }) {
  return html`<span class="row tight" role="group" aria-label=${msg`Tokens with this text`}>
    ${choices.map(
      (choice) => html`<button class="button is-choice small"
      key=${choice.token.id} type="button" aria-pressed=${choice.token.id === asked.token.id} onClick=${() => onAsk(choice)}
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
