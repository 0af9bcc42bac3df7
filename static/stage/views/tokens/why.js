/** "Why not this token?": any word of the vocabulary is looked up, and the answer is a sentence or two. */

import { html } from "htm/preact";
import { useId } from "preact/hooks";
import { branchRefusal } from "../../../shared/facts/branching.js";
import { quoted } from "../../../shared/facts/format.js";
import { NOT_STORED } from "../../../shared/facts/saved-session.js";
import { Badge } from "../../../shared/ui/badge.js";
import { Token } from "../../../shared/ui/token.js";
import { whyToken } from "./token-path.js";

/**
 * @param {{path: Object, run: Object, step: number, text: string, most: number, found: Object, asked: Object|null, branching: Object|null,
 *   onText: Function, onAsk: Function, onBranch: Function}} props `most`: characters of `text`; `asked`: {token, rank, logit}; `found`: {status, problem,
 *   choices} of the word typed, `choices` each like `asked`
 */
export function Why({ path, run, step, text, most, found, asked, branching, onText, onAsk, onBranch }) {
  const field = useId();
  return html`<section class="why box still" aria-label="Why not this token">
    <p class="why-ask line on-line">
      <label for=${field}>Why not this token?</label>
      <input
        id=${field} type="search" placeholder="any word" autocomplete="off" maxlength=${most} value=${text}
        onInput=${(event) => onText(event.currentTarget.value)}
      />
    </p>
    <div class="why-answer">
      <p role="status">
        ${asked ? html`<${Answer} path=${path} asked=${asked} />` : (waitingWords(text, found) ?? "Type any word, or press a candidate’s name above.")}
      </p>
      ${
        asked &&
        html`<p class="why-more row on-line muted">
          ${found.choices.length > 1 && html`<${Choices} choices=${found.choices} asked=${asked} onAsk=${onAsk} />`}
          <${BranchButton} run=${run} step=${step} token=${asked.token} branching=${branching} onBranch=${onBranch} />
          ${text.trim() && asked.whole === false && html`<span>“${text.trim()}” is several tokens: this is its first.</span>`}
        </p>`
      }
    </div>
  </section>`;
}

function waitingWords(text, { status, problem }) {
  if (!text.trim()) return null;
  if (status === "unavailable") return "The model is loading; then any word can be asked about.";
  if (status === "none")
    return `What other words would have got is ${NOT_STORED}. The listed tokens can be asked about.`;
  if (status === "failed") return problem.detail || problem.title;
  return `Asking the model about “${text.trim()}”…`;
}

function Answer({ path, asked }) {
  const { verdict, possible, because } = whyToken(path, asked);
  return html`<b class=${possible ? "word-output" : "word-bad"}>${verdict}</b> ${because} <${Badge} origin="computed" />`;
}

function Choices({ choices, asked, onAsk }) {
  return html`<span class="row tight" role="group" aria-label="Tokens that read so">
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
    ${starting ? "Starting a branch…" : `Branch with ${quoted(token)} anyway`}
  </button>`;
}
