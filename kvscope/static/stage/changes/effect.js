/** How a changed run differs from its original, in a sentence, and which step of the original is beside a step. Pure. */

import { likeliest } from "../../shared/compare/next-token.js";
import { comparisonSentence, largestChange } from "../../shared/compare/sentence.js";
import { changesInWords } from "../../shared/facts/changes.js";
import { percent, quoted } from "../../shared/facts/format.js";
import { tokenCount } from "../../shared/words/counts.js";
import { msg } from "../../shared/words/msg.js";

/** Smaller shares are written with two decimals. */
const SMALL = 0.01;

/**
 * @param {import("../../shared/log/run.js").Run} original
 * @param {import("../../shared/log/run.js").Run} run
 * @param {ReturnType<typeof import("../../shared/compare/alignment.js").comparisonOf>} aligned of both
 * @returns {string} where the answers part, with the probability of the original's token in both; for equal answers, the largest change of
 *   a probability. It says what was observed with the changes, and claims no cause
 */
export function effectSentence(original, run, aligned) {
  const { columns, moments, parting } = aligned;
  const changes = changesInWords(run.open.changed.changes, run.tokens);
  if (parting === null) return unpartedSentence(original, run, moments, changes);
  const { a, b } = columns[moments[parting].column];
  if (a === null || b === null) return endSentence(original, run, changes, { a, b });
  const step = moments[parting].b;
  // The viewer set the token of a branch, so that no change chose it.
  if (run.steps[step].data.token.forced) return comparisonSentence(original, run, aligned);
  const rows = likeliest({ run: original, step: moments[parting].a }, { run, step });
  const row = rows.find(({ chosenA }) => chosenA);
  const [token, other, number] = [quoted(original.tokens[a]), quoted(run.tokens[b]), step + 1];
  return `${moved(changes, token, row)} ${msg`The answer parts at its token ${number}, which is ${other}.`}`;
}

/** `a`, `b`: probabilities of the token in both, of a row of `likeliest`. */
function moved(changes, token, { a, b }) {
  if (a.p === null) return msg`With ${changes}, another token than ${token} is chosen.`;
  const before = share(a.p);
  if (b.p === null) return msg`With ${changes}, ${token} falls from ${before} to at most ${share(b.below)}.`;
  const after = share(b.p);
  if (before === after) return msg`With ${changes}, ${token} stays at ${before}.`;
  return b.p < a.p
    ? msg`With ${changes}, ${token} falls from ${before} to ${after}.`
    : msg`With ${changes}, ${token} rises from ${before} to ${after}.`;
}

const share = (value) => percent(value, value < SMALL ? 2 : 1);

/** The sentence for two answers of which one is the beginning of the other. */
function endSentence(original, run, changes, { a, b }) {
  const tokens = tokenCount((a === null ? original : run).tokens.length - run.promptLength);
  const shorter = a === null ? original : run;
  if (!shorter.close) return msg`With ${changes}, the answer is the same so far: ${tokens}.`;
  if (b === null)
    return msg`With ${changes}, the answer ends after ${tokens}; that of the original goes on with ${quoted(original.tokens[a])}.`;
  return msg`With ${changes}, the answer goes on with ${quoted(run.tokens[b])}; that of the original ends after ${tokens}.`;
}

function unpartedSentence(original, run, moments, changes) {
  const tokens = tokenCount(run.tokens.length - run.promptLength);
  const same =
    run.close && original.close
      ? msg`With ${changes}, the answer stays the same: ${tokens}.`
      : msg`With ${changes}, the answer is the same so far: ${tokens}.`;
  const change = largestChange(original, run, moments);
  if (!change) return same;
  const [name, before, after] = [quoted(change.token), share(change.a), share(change.b)];
  if (before === after)
    return `${same} ${msg`The probability of no chosen token changes by more than the page rounds.`}`;
  return `${same} ${msg`The largest change of a chosen token’s probability is that of ${name}: from ${before} to ${after}.`}`;
}

/**
 * @param {{moments: {a: number|null, b: number|null}[]}} aligned
 * @param {number} step of the changed run
 * @returns {number|null} the step of the original beside it; null if there is none
 */
export function stepBeside({ moments }, step) {
  return moments.find(({ b }) => b === step)?.a ?? null;
}
