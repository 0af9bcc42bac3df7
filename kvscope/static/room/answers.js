/** The answers of a room: what is sent, and how often each was chosen. Pure. */

import { integer } from "../shared/facts/format.js";
import { numberOf } from "../shared/facts/typed-number.js";
import { form, msg, plural } from "../shared/words/msg.js";

/** Digits that the server takes of a number, before and after the point. */
const WHOLE_DIGITS = 15;
const PARTS = 12;
/** Instead of the number of an answer that may be among a vote's others. */
export const AMONG_OTHERS = msg`among the others`;

/** @returns {string|null} a typed number as digits with an optional point: "1,024" is "1024"; null if it is none, or too long */
export function plainNumberOf(text) {
  const number = numberOf(text);
  if (number === null || Math.abs(number) >= 10 ** WHOLE_DIGITS) return null;
  return String(Number(number.toFixed(PARTS))).includes("e")
    ? number.toFixed(PARTS).replace(/\.?0+$/, "")
    : String(Number(number.toFixed(PARTS)));
}

/** @returns {string} a typed token without the space before it, which the pages write as "·": "·Paris" and " Paris" are one answer */
export function plainTokenOf(text) {
  return text.replace(/^[\s·]+/, "").trimEnd();
}

/**
 * @param {{kind: string, choices: string[], rounds: {counts: Object<string, number>, others: number}[]}} question
 * @returns {{answer: string, votes: (number|null)[]}[]} how often each answer was chosen in each vote: choices in their order, numbers by size,
 *   the rest by how often; null for an answer that a vote does not list, and that may be among its others
 */
export function countsOf({ kind, choices, rounds }) {
  const answers = [...new Set([...choices, ...rounds.flatMap(({ counts }) => Object.keys(counts))])];
  const rows = answers.map((answer) => ({ answer, votes: rounds.map((round) => countIn(round, answer)) }));
  if (kind === "number") rows.sort((a, b) => Number(a.answer) - Number(b.answer));
  if (kind === "token") rows.sort((a, b) => b.votes[b.votes.length - 1] - a.votes[a.votes.length - 1]);
  const others = rounds.map(({ others: count }) => count);
  return others.some(Boolean) ? [...rows, { answer: msg`other answers`, votes: others }] : rows;
}

function countIn({ counts, others }, answer) {
  if (Object.hasOwn(counts, answer)) return counts[answer];
  return others ? null : 0;
}

/** @returns {string} an answer as it is shown: 46,080 */
export function inDigits({ kind }, answer) {
  return kind === "number" && Number.isInteger(Number(answer)) ? integer(Number(answer)) : answer;
}

/** @returns {number} the number of answers in a vote */
export function totalOf({ counts, others }) {
  return Object.values(counts).reduce((sum, count) => sum + count, others);
}

/** @returns {string} "41 %"; "0 %" of nothing */
export function shareOf(count, total) {
  return `${total ? Math.round((100 * count) / total) : 0} %`;
}

/** @returns {string[]} the number of answers in each vote: "vote 1: 12 answers" */
export function totalsInWords({ rounds }) {
  const answers = (total) => plural(total, form`${total} answer`, form`${total} answers`);
  const each = rounds.map((round) => answers(totalOf(round)));
  return each.length > 1 ? each.map((text, at) => msg`vote ${at + 1}: ${text}`) : each;
}

/** @returns {string} the question and its histograms as lines of text */
export function inWords(question) {
  const totals = question.rounds.map(totalOf);
  const lines = countsOf(question).map(({ answer, votes }) => {
    const each = votes.map((count, at) => (count === null ? AMONG_OTHERS : `${count} (${shareOf(count, totals[at])})`));
    return `${inDigits(question, answer)}: ${each.join(", ")}`;
  });
  return [question.text, totalsInWords(question).join(" · "), ...lines].join("\n");
}

/** @returns {string} a text of at most that many characters, cut with "…" */
export function shortened(text, most = Number.POSITIVE_INFINITY) {
  const characters = [...text];
  return characters.length > most
    ? `${characters
        .slice(0, most - 1)
        .join("")
        .trimEnd()}…`
    : text;
}
