/** What the KV cache holds: a column per position, its measured bytes, and the bytes of one more token. */

import { html } from "htm/preact";
import { bytes, bytesShort, integer } from "../../shared/facts/format.js";
import { lacking, NEEDS } from "../../shared/facts/lacking.js";
import { msg, nodes } from "../../shared/words/msg.js";
import { Term } from "../../shared/words/term.js";
import { isAwaited } from "../state/layer-sweep.js";
import { Card } from "../ui/card.js";
import { bytesDuring, cacheAccount, cacheBytes, globalBytes } from "./facts.js";

const NAME = msg`KV cache`;

/** @param {Object} props as of every part; `shelf`: the picture, `written`: the bytes of an unfinished step; both move with the player */
export function KvCache({ state, dispatch, shelf, written }) {
  const { run } = state;
  const opens = { name: NAME, names: "cache.k cache.v", view: "cache", question: msg`Why a cache?` };
  if (!run?.shows) return html`<${Card} ...${opens} number="" says=${msg`The first step of a run shows its bytes.`} />`;
  const lacks = lacking(run, NEEDS.cache);
  if (lacks) return html`<${Card} ...${opens} number="" says=${lacks} />`;
  const title = html`<${Term} id="kv-cache">${NAME}<//>`;
  return html`<${Card} ...${opens} title=${title} dispatch=${dispatch} ...${content(state, written)}>${shelf}<//>`;
}

/** Shows the bytes written so far in the player, in place of the number after the step. */
export function Written({ state: { run, step, reveal } }) {
  if (!run?.shows || lacking(run, NEEDS.cache)) return null;
  if (!run.steps.length) return bytesShort(cacheBytes(run.open.model, run.reused + run.partialRows));
  return bytesShort(bytesDuring(run, step, Math.min(run.layers, Math.floor(reveal))));
}

/** Shows measured bytes after a step, and bytes computed by the formula during a step. */
function content({ run, step, settled }, written) {
  const { model } = run.open;
  const perToken = bytes(cacheBytes(model, 1));
  const unfinished = { origin: "computed", number: written };
  if (isAwaited({ run, step: settled })) {
    const all = bytesShort(cacheBytes(model, run.promptLength));
    return { ...unfinished, says: msg`+${perToken} per token: ${all} when the prompt is computed` };
  }
  if (settled < step) {
    const after = bytesShort(cacheAccount(run, step).used.formula);
    return { ...unfinished, says: msg`+${perToken} per token: ${after} when this step ends` };
  }
  const { used, positions, windowed } = cacheAccount(run, settled);
  const number = bytesShort(used.measured);
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
