/** The experiment of a log and its results: one value for each figure and round, and whether the texts are the same. Pure. */

import { msg } from "../shared/words/msg.js";
import { disturbedText } from "./comparisons.js";
import { EXPERIMENTS } from "./experiments.js";
import { sameText } from "./measures.js";
import { answersOf } from "./tally.js";

/** @returns {boolean} whether two settings, which may be objects, are equal */
const isSame = (one, other) => JSON.stringify(one) === JSON.stringify(other);

/** @returns {string[]} the settings that are not the same in all rounds */
function differing(rounds) {
  return Object.keys(rounds[0]).filter((name) => rounds.some((round) => !isSame(round[name], rounds[0][name])));
}

/**
 * @param {{rounds: Object[], requests: Object[]}} study of a log
 * @returns {import("./experiments.js").Experiment|null} the experiment whose setting is the only difference between the
 *   rounds; for a single round, an experiment with one round
 */
export function experimentOf(study) {
  if (study.rounds.length === 1) return EXPERIMENTS.find(({ alone, isOf }) => alone && isOf(study)) ?? null;
  const names = differing(study.rounds);
  if (names.length !== 1) return null;
  const those = EXPERIMENTS.filter(({ setting }) => setting === names[0]);
  return those.find(({ isOf }) => isOf?.(study)) ?? those.find(({ isOf }) => !isOf) ?? null;
}

/** @returns {string} the name of a round among those of its log */
export function roundName(study, number) {
  const { rounds } = study;
  const named = experimentOf(study);
  if (named) {
    const name = nameOfValue(named, rounds[number][named.setting]);
    if (name && !named.alone) return named.id === "at-once" ? msg`${name} at once` : name;
  }
  const values = differing(rounds).map((name) => `${name.replace("_", " ")} ${JSON.stringify(rounds[number][name])}`);
  return values.length ? values.join(", ") : msg`round ${number + 1}`;
}

/** @param {import("./experiments.js").Experiment} experiment @param {*} value */
function nameOfValue({ values, nameOf }, value) {
  if (nameOf) return nameOf(value);
  return Array.isArray(values) ? values.find((each) => isSame(each.value, value))?.name : null;
}

/**
 * @typedef {Object} Result
 * @property {import("./experiments.js").Experiment} experiment
 * @property {string} run whose log it is of
 * @property {boolean} ofFile whether its requests are those of a file, as far as the log shows
 * @property {{name: string, value: *, values: (number|null)[], others: number, details: Object|undefined}[]} rounds those that are
 *   over; `values`: one per figure
 * @property {string[]} figures their names
 * @property {{same: number, of: number, first: {request: number, token: number}|null}|null} text how many requests got the same text
 *   in all rounds; null before all are over, and where there is only one
 * @property {string|null} conclusion null if there is none, or before all are over
 * @property {string|null} disturbed what disturbed the times; null if nothing did, or before all are over
 * @property {number} of how many rounds there will be
 *
 * @param {import("./workload-log.js").Workload} log
 * @returns {Result|null} null if the log is no experiment
 */
export function resultOf(log) {
  const { rounds: planned, requests } = log.study;
  const experiment = experimentOf(log.study);
  if (!experiment) return null;
  const blockSize = log.open.block_size;
  const over = log.rounds.filter(({ end }) => end);
  const { received } = log;
  const { model } = log.open;
  const facts = over.map((round) => ({
    ...{ round, requests, blockSize, model, received },
    answers: answersOf(round, requests),
  }));
  const complete = over.length === planned.length;
  const sides = facts.map((each) => ({
    ...each,
    name: roundName(log.study, each.round.number),
    values: experiment.figures.map(({ of }) => of(each)),
    details: experiment.details?.(each),
  }));
  return {
    ...{ experiment, run: log.id, of: planned.length },
    ofFile: experiment.ofFile?.(requests) ?? false,
    rounds: sides.map(({ name, values, details, round }) => ({
      ...{ name, values, details, value: round.settings[experiment.setting], others: round.end.others },
    })),
    figures: experiment.figures.map(({ name }) => (typeof name === "string" ? name : name(requests))),
    text: complete && !experiment.alone ? sameInAll(facts.map(({ answers }) => answers)) : null,
    disturbed: complete ? disturbedText(sides) : null,
    conclusion: complete && experiment.conclusion ? experiment.conclusion(...sides) : null,
  };
}

/** Compares each later round with the first, and returns the comparison in which the fewest texts are the same. */
function sameInAll(answers) {
  const each = answers.slice(1).map((other) => sameText(answers[0], other));
  return each.reduce((least, one) => (one.same < least.same ? one : least));
}
