/** Drafts: what guesses the next tokens of a request, so that one pass can check several. Pure. */

import { bytesShort, milliseconds } from "../shared/facts/format.js";
import { passCount } from "../shared/words/counts.js";
import { form, msg, plural } from "../shared/words/msg.js";

/** @typedef {{tokens: number, layers: number}|null} Draft of a round; 0 layers: prompt lookup guesses, from earlier text */

/** Guesses per pass with which each kind of draft read the fewest weights per token of SmolLM2-135M (docs/measurements.md). */
export const LOOKED_UP = 4;
export const BY_LAYERS = 1;
/** The share of the layers that guesses best: fewer layers agree too rarely, more cost nearly a whole pass. */
const BEST_SHARE = 5 / 6;

/** @returns {number} how many of a model's layers guess best */
export function bestLayers(layers) {
  return Math.max(1, Math.round(layers * BEST_SHARE));
}

/** @param {Draft} draft  @returns {string} */
export function draftName(draft) {
  if (!draft) return msg`no draft`;
  const { layers } = draft;
  return layers ? plural(layers, form`first ${layers} layer`, form`first ${layers} layers`) : msg`prompt lookup`;
}

/** @param {Draft} draft  @returns {string} the same with the number of guesses */
export function draftText(draft) {
  if (!draft) return draftName(draft);
  const name = draftName(draft);
  const { tokens } = draft;
  return plural(
    tokens,
    form`draft: ${name}, ${tokens} token per pass`,
    form`draft: ${name}, ${tokens} tokens per pass`,
  );
}

/**
 * @param {{ms: number, passes: number, weight_bytes: number}|null} took of the guesses before a pass; null: there were none
 * @param {Draft} draft of the round
 * @returns {string} what guessing took of the pass's time, a sentence; "" where nothing was guessed
 */
export function draftTook(took, draft) {
  if (!took || !draft) return "";
  const time = milliseconds(took.ms);
  if (!took.passes) return msg`Prompt lookup took ${time} of it.`;
  const passes = passCount(took.passes);
  const name = draftName(draft);
  const bytes = bytesShort(took.weight_bytes);
  return msg`The draft took ${time} of it: ${passes} of the ${name}, which read ${bytes} of weights.`;
}
