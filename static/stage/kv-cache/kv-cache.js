/** What the KV cache holds: a column per position, its measured bytes, and the bytes of one more token. */

import { html } from "htm/preact";
import { bytes, bytesShort, integer } from "../../shared/facts/format.js";
import { isAwaited } from "../../shared/state/settled.js";
import { Card } from "../../shared/ui/card.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { cacheAccount, cacheBytes, globalBytes } from "./facts.js";

const NAME = msg`KV cache`;

/** @param {Object} props as of every part; `shelf`: the picture, which moves with the player */
export function KvCache({ state, dispatch, shelf }) {
  const { run } = state;
  const opens = { name: NAME, names: "cache.k cache.v", view: "cache", question: msg`Why a cache?` };
  if (!run?.shows) return html`<${Card} ...${opens} number="" says=${msg`The first step of a run shows its bytes.`} />`;
  const title = html`<${Term} id="kv-cache">${NAME}<//>`;
  return html`<${Card} ...${opens} title=${title} dispatch=${dispatch} ...${content(state)}>${shelf}<//>`;
}

/** Bytes after a step are measured; bytes that an unfinished step will add are computed by the formula. */
function content({ run, step, settled }) {
  const { model } = run.open;
  const perToken = bytes(cacheBytes(model, 1));
  if (isAwaited({ run, step: settled })) {
    const all = cacheBytes(model, run.promptLength);
    return {
      origin: "computed",
      number: bytesShort(cacheBytes(model, run.partialRows)),
      says: msg`+${perToken} per token: ${bytesShort(all)} when the prompt is computed`,
    };
  }
  const { used, positions, windowed } = cacheAccount(run, settled);
  const number = bytesShort(used.measured);
  if (settled < step) {
    const after = bytesShort(cacheAccount(run, step).used.formula);
    return {
      origin: "measured",
      number,
      says: msg`+${perToken} per token: ${after} when this step ends`,
    };
  }
  const count = integer(positions);
  const term = html`<${Term} id="position">${positions === 1 ? msg`position` : msg`positions`}<//>`;
  const agrees = used.measured === used.formula;
  const verdict = agrees
    ? html`<span class="word-output">✓</span> ${msg`the formula gives the same`}`
    : html`<span class="word-bad">✗ ${msg`formula: ${bytes(used.formula)}`}</span>`;
  const isFull = windowed !== undefined && windowed.positions < positions;
  const holds = isFull
    ? nodes`${count} ${term}, ${integer(windowed.positions)} in local layers; +${bytes(globalBytes(model))} per token, on average`
    : nodes`${count} ${term}, +${perToken} per token`;
  return {
    origin: "measured",
    number,
    says: html`${holds}<br />${verdict}`,
  };
}
