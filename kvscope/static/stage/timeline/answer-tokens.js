/** The tokens of a run's answer: type size, state at the shown step, time and tooltip. Pure. */

import { milliseconds, percent, tokenText } from "../../shared/facts/format.js";
import { isInherited } from "../../shared/facts/step-rows.js";
import { msg } from "../../shared/words/msg.js";

/** Estimated characters of the answer per token that it may have. */
const CHARS_PER_TOKEN = 5;
/** Most characters in large type and in middle type. */
const LARGE_CHARS = 130;
const MIDDLE_CHARS = 300;
/** Estimated empty space, in characters, after a line break. */
const LINE_CHARS = 40;

/**
 * @param {Object} run
 * @returns {"large"|"middle"|"small"} the type size, the same from the first frame to the last
 */
export function typeOf({ open, tokens, promptLength, close }) {
  const prompt = open.chat ? open.prompt.length : charsOf(tokens.slice(0, promptLength));
  const answer =
    close || !open.limits ? charsOf(tokens.slice(promptLength)) : CHARS_PER_TOKEN * open.limits.max_new_tokens;
  const all = prompt + answer;
  return all <= LARGE_CHARS ? "large" : all <= MIDDLE_CHARS ? "middle" : "small";
}

const charsOf = (tokens) =>
  tokens.reduce((sum, { text }) => sum + text.length + LINE_CHARS * (text.split("\n").length - 1), 0);

/** @returns {"now"|"new"|"past"|"future"} of the token that step `index` chose, at step `step`: computed, chosen, earlier, later */
export function kindOf(run, index, step) {
  if (index === step - 1) return isInherited(run, step) ? "past" : "now";
  if (index === step) return "new";
  return index < step ? "past" : "future";
}

/** @returns {string} the time of the step that computed it; before that step, or if another run computed it, its probability */
export function timeOf(run, index, known) {
  const { steps } = run;
  const { token } = steps[index].data;
  if (token.forced) return msg`given`;
  const computedBy = index + 1 <= known && !isInherited(run, index + 1) ? steps[index + 1] : undefined;
  if (computedBy?.data.ms) return milliseconds(computedBy.data.ms.total);
  return token.prob === null ? "" : percent(token.prob, 0);
}

/** @returns {string} the tooltip of the token that step `index` chose */
export function titleOf(run, index, known, noted) {
  const { steps } = run;
  const { token } = steps[index].data;
  const text = tokenText(token);
  const share = token.prob === null ? null : percent(token.prob, 0);
  const next = index + 1;
  const ms = next <= known && !isInherited(run, next) ? steps[next]?.data.ms : undefined;
  const time = ms ? milliseconds(ms.total) : null;
  return [
    chosenIn(text, index, token.forced, share),
    time !== null && msg`Step ${next} computed its row in ${time}.`,
    noted && msg`It has a note.`,
  ]
    .filter(Boolean)
    .join(" ");
}

function chosenIn(text, step, forced, share) {
  if (forced) return msg`${text}: set by this branch in step ${step}.`;
  if (share === null) return msg`${text}: chosen in step ${step}.`;
  return msg`${text}: chosen in step ${step}, probability ${share}.`;
}
