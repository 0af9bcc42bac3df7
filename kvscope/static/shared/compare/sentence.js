/** The comparison of two runs in a sentence. Pure. */

import { ending } from "../facts/endings.js";
import { integer, listed, percent, quoted } from "../facts/format.js";
import { tokenCount } from "../words/counts.js";
import { form, msg, plural } from "../words/msg.js";

/**
 * @param {Object} a run
 * @param {Object} b run
 * @param {{columns: Object[], lead: number, first: number|null, moments: Object[]}} aligned of `comparisonOf`
 * @returns {string} the first tokens that differ, with their probabilities; of equal runs, the largest change of a probability. First,
 *   special tokens at the beginning of only one run
 */
export function comparisonSentence(a, b, { columns, lead, first, moments }) {
  return [leadSentence(a, b, columns.slice(0, lead)), partingSentence(a, b, columns, first, moments)]
    .filter(Boolean)
    .join(" ");
}

function partingSentence(a, b, columns, first, moments) {
  if (first === null) return sameSentence(a, b, columns, moments);
  const { a: one, b: other } = columns[first];
  const isPrompt = (one ?? a.promptLength) < a.promptLength || (other ?? b.promptLength) < b.promptLength;
  if (isPrompt) return promptSentence(a, b, columns, columns[first]);
  const shared = columns.slice(0, first).filter((column) => column.a >= a.promptLength).length;
  return answerSentence(a, b, columns[first], shared);
}

/** @returns {string} "" if both begin with the same special tokens */
function leadSentence(a, b, lead) {
  const [ofA, ofB] = [
    { run: a, side: "a" },
    { run: b, side: "b" },
  ].map(({ run, side }) =>
    lead.filter((column) => !column.same && column[side] !== null).map((column) => quoted(run.tokens[column[side]])),
  );
  if (ofA.length && ofB.length)
    return msg`A begins with ${listed(ofA)}, B with ${listed(ofB)}; the tokens after them are aligned.`;
  if (ofA.length) return onlyBegins("A", ofA);
  return ofB.length ? onlyBegins("B", ofB) : "";
}

function onlyBegins(name, tokens) {
  return plural(
    tokens.length,
    form`Only ${name} begins with the special token ${listed(tokens)}; the tokens after it are aligned.`,
    form`Only ${name} begins with the special tokens ${listed(tokens)}; the tokens after them are aligned.`,
  );
}

/** @returns {string} the token of a column in a run, with its probability if the run computed it: “Paris” (77 %) */
function chosenToken(run, position) {
  const name = quoted(run.tokens[position]);
  const token = run.steps[position - run.promptLength]?.data.token;
  if (!token) return name;
  if (token.forced) {
    return token.raw_prob === null
      ? msg`${name}, which was set`
      : msg`${name}, which was set (the model gave it ${percent(token.raw_prob)})`;
  }
  const share = percent(token.raw_prob);
  return `${name} (${share})`;
}

/** @param {Object} column the first that differs, or has one token  @param {number} shared how many tokens of the answers are the same before it */
function answerSentence(a, b, column, shared) {
  const [from, to] = [column.a, column.b].map((position, i) =>
    position === null ? null : chosenToken([a, b][i], position),
  );
  const count = integer(shared);
  const beginning = !shared
    ? msg`The answers differ from their first token on.`
    : plural(
        shared,
        form`The answers have the same first token.`,
        form`The first ${count} tokens of both answers are the same.`,
      );
  if (!shared && from !== null && to !== null)
    return msg`The answers differ from their first token on: ${from} becomes ${to}.`;
  if (from !== null && to !== null) return `${beginning} ${msg`Then ${from} becomes ${to}.`}`;
  const [run, name, other, next] = from === null ? [a, "A", "B", to] : [b, "B", "A", from];
  if (!run.close) return `${beginning} ${msg`${name} is still being computed; ${other} goes on with ${next}.`}`;
  const reason = ending(run.close);
  return `${beginning} ${msg`Then ${name} ends (${reason}), and ${other} goes on with ${next}.`}`;
}

function promptSentence(a, b, columns, { a: from, b: to }) {
  const [before, after] = [from === null ? null : quoted(a.tokens[from]), to === null ? null : quoted(b.tokens[to])];
  const place =
    from === null || to === null || from === to
      ? msg`position ${integer(from ?? to)}`
      : msg`position ${integer(from)} of A and ${integer(to)} of B`;
  const parts =
    before !== null && after !== null
      ? msg`The prompts part at ${place}: ${before} becomes ${after}.`
      : before !== null
        ? msg`The prompts part at ${place}: ${before} is in A alone.`
        : msg`The prompts part at ${place}: ${after} is in B alone.`;
  if (!a.steps.length || !b.steps.length) return parts;
  const answers = columns.filter(
    ({ a: one, b: other }) => (one ?? -1) >= a.promptLength || (other ?? -1) >= b.promptLength,
  );
  const shared = answers.findIndex(({ same }) => !same);
  if (shared < 0) return `${parts} ${msg`The answers are the same: ${tokenCount(answers.length)}.`}`;
  if (shared > 0) return `${parts} ${answerSentence(a, b, answers[shared], shared)}`;
  const [one, other] = [chosenToken(a, a.promptLength), chosenToken(b, b.promptLength)];
  return `${parts} ${msg`The first token of the answer is ${one} in A and ${other} in B.`}`;
}

function sameSentence(a, b, columns, moments) {
  const tokens = tokenCount(columns.filter(({ same }) => same).length);
  const growing = !a.close || !b.close;
  const same = growing ? msg`Both runs have the same ${tokens} so far.` : msg`Both runs have the same ${tokens}.`;
  const change = largestChange(a, b, moments);
  if (!change) return same;
  const name = quoted(change.token);
  const [before, after] = [percent(change.a), percent(change.b)];
  if (before === after) return `${same} ${msg`Rounded, each chosen token has the same probability in both.`}`;
  return `${same} ${msg`The largest change of a token’s probability is that of ${name}: ${before} in A, ${after} in B.`}`;
}

/** @returns {{token: Object, a: number, b: number}|null} the chosen token whose probability differs most, by softmax of the raw logits */
export function largestChange(a, b, moments) {
  let largest = null;
  for (const moment of moments) {
    if (moment.a === null || moment.b === null) continue;
    const [one, other] = [a.steps[moment.a].data.token, b.steps[moment.b].data.token];
    if (one.raw_prob === null || other.raw_prob === null) continue;
    const change = Math.abs(one.raw_prob - other.raw_prob);
    if (!largest || change > largest.change) largest = { change, token: one, a: one.raw_prob, b: other.raw_prob };
  }
  return largest;
}
