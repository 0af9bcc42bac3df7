/** What the KV cache holds: a column per position, its bytes as read off the tensors, and what one more token costs. */

import { html } from "htm/preact";
import { bytes, bytesShort, integer } from "../../shared/facts/format.js";
import { isAwaited } from "../../shared/state/settled.js";
import { Card } from "../../shared/ui/card.js";
import { Term } from "../../shared/words/term.js";
import { cacheAccount, cacheBytes } from "./facts.js";

const NAME = "KV cache";

/** @param {Object} props as of every part; `shelf`: the picture, which moves with the clock */
export function KvCache({ state, dispatch, shelf }) {
  const { run } = state;
  const opens = { name: NAME, view: "cache", question: "Why a cache?" };
  if (!run?.shows) return html`<${Card} ...${opens} number="" says="Its bytes appear with the first step of a run." />`;
  const title = html`<${Term} id="kv-cache">${NAME}<//>`;
  return html`<${Card} ...${opens} title=${title} dispatch=${dispatch} ...${told(state)}>${shelf}<//>`;
}

/** What is in the cache once a step is over is measured; what a step on its way will add, the formula says. */
function told({ run, step, settled }) {
  const { model } = run.open;
  const each = `+${bytes(cacheBytes(model, 1))} a token`;
  if (isAwaited({ run, step: settled })) {
    const all = cacheBytes(model, run.promptLength);
    return {
      origin: "computed",
      number: bytesShort(cacheBytes(model, run.partialRows)),
      says: `${each}: ${bytesShort(all)} when the prompt is read`,
    };
  }
  const { used, positions } = cacheAccount(run, settled);
  const number = bytesShort(used.measured);
  if (settled < step)
    return {
      origin: "measured",
      number,
      says: `${each}: ${bytesShort(cacheAccount(run, step).used.formula)} when this step ends`,
    };
  const agrees = used.measured === used.formula;
  const verdict = agrees
    ? html`<span class="word-output">✓</span> the formula agrees`
    : html`<span class="word-bad">✗ formula: ${bytes(used.formula)}</span>`;
  return {
    origin: "measured",
    number,
    says: html`${integer(positions)} <${Term} id="position">${positions === 1 ? "position" : "positions"}<//>, ${each}<br />${verdict}`,
  };
}
