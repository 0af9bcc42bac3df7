/** A run's answer as words: which of them may be seen, what each is at the step in sight, and what is told of it. Pure. */

import { milliseconds, percent, tokenText } from "../../shared/facts/format.js";

/** Characters that the answer will about have, per token that it may have. */
const CHARS_PER_TOKEN = 5;
/** Up to so many characters it is set in large type, and in middle type. */
const LARGE_CHARS = 130;
const MIDDLE_CHARS = 300;
/** What a line that is broken off leaves empty. */
const LINE_CHARS = 40;

/**
 * @param {Object} run
 * @returns {"large"|"middle"|"small"} the type it is set in, the same from its first frame to its last
 */
export function typeOf({ open, tokens, promptLength, close }) {
  const prompt = open.chat ? open.prompt.length : charsOf(tokens.slice(0, promptLength));
  const answer = close ? charsOf(tokens.slice(promptLength)) : CHARS_PER_TOKEN * open.limits.max_new_tokens;
  const all = prompt + answer;
  return all <= LARGE_CHARS ? "large" : all <= MIDDLE_CHARS ? "middle" : "small";
}

const charsOf = (tokens) =>
  tokens.reduce((sum, { text }) => sum + text.length + LINE_CHARS * (text.split("\n").length - 1), 0);

/** @returns {"now"|"new"|"past"|"future"} what the token that step `index` chose is at step `step`: fed, chosen, earlier, later */
export function kindOf(index, step) {
  if (index === step - 1) return "now";
  if (index === step) return "new";
  return index < step ? "past" : "future";
}

/** @returns {string} the time of the step that fed it; before there is one, what share the model gave it */
export function timeOf(steps, index, known) {
  const { token } = steps[index].data;
  if (token.forced) return "given";
  const fedBy = index + 1 <= known ? steps[index + 1] : undefined;
  if (fedBy) return milliseconds(fedBy.data.ms.total);
  return token.prob === null ? "" : percent(token.prob, 0);
}

/** @returns {string} what is told of a word on demand */
export function aboutWord(steps, index, known, noted) {
  const { token } = steps[index].data;
  const chosen = token.forced
    ? `given by this branch in step ${index}`
    : `chosen in step ${index}${token.prob === null ? "" : ` with ${percent(token.prob, 0)}`}`;
  const fedBy = index + 1 <= known ? steps[index + 1] : undefined;
  const fed = fedBy ? `, fed in step ${index + 1}: ${milliseconds(fedBy.data.ms.total)}` : "";
  return `${tokenText(token)} ${chosen}${fed}${noted ? ", has a note" : ""}`;
}
