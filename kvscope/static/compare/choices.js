/** The names and the order of the runs that a viewer can choose for a side. Pure. */

import { listedToken } from "../shared/facts/branching.js";
import { eachChangeInWords } from "../shared/facts/changes.js";
import { quoted } from "../shared/facts/format.js";
import { readable } from "../shared/facts/prose.js";
import { stepCount } from "../shared/words/counts.js";
import { msg } from "../shared/words/msg.js";

/** @typedef {{id: string, title: string, about: string, below?: boolean}} Choice `below`: it stands below the run that it changes */

const NOT_ALONE = ["serving", "beam"];
const TWINS = { none: msg`twin without a KV cache`, forgotten: msg`twin whose KV cache is dropped after each step` };

/**
 * @param {Object[]} statuses of this browser's runs, newest first, as `GET /api/runs/<id>` gives them
 * @returns {Choice[]} each changed run below its original, if that is among them
 */
export function ownChoices(statuses) {
  const runs = statuses.filter(({ study }) => !NOT_ALONE.includes(study?.kind));
  const byId = new Map(runs.map((run) => [run.id, run]));
  const originalOf = ({ changed }) => byId.get(changed?.of);
  const firstOf = (run) => (originalOf(run) ? firstOf(originalOf(run)) : run);
  const withChanged = (run) => [run, ...runs.filter((other) => originalOf(other) === run).flatMap(withChanged)];
  return [...new Set(runs.map(firstOf))]
    .flatMap(withChanged)
    .map((run) => ownChoice(run, originalOf(run) !== undefined));
}

function ownChoice({ id, prompt, model, steps, changed }, below) {
  const changes = changed && changedInWords(changed);
  if (below) return { id, title: changes, about: stepCount(steps), below };
  return {
    id,
    title: readable(prompt).trim(),
    about: [changes, model.name, stepCount(steps)].filter(Boolean).join(" · "),
  };
}

/**
 * @param {{runs: Object[]}} family of a run, as the server lists it
 * @param {Object[]} [prompt] tokens of the family's prompt, which the names of places quote
 * @returns {Choice[]} runs that a branch, a twin or a change connects with it
 */
export function familyChoices({ runs }, prompt = []) {
  return runs
    .filter(({ study }) => !study || study.kind === "twin")
    .map((run) => ({ id: run.id, title: titleOfRelative(run, prompt), about: stepCount(run.steps) }));
}

function titleOfRelative({ parent, study, changed }, prompt) {
  if (study) return TWINS[study.cache] ?? msg`twin with ${study.budget} positions in the cache`;
  if (parent) return msg`branch with ${quoted(listedToken(parent.token))} at position ${parent.position}`;
  return changed ? changedInWords(changed, prompt) : msg`the first run`;
}

/**
 * @param {{id: string, title: string, prompt: string}[]} recordings
 * @returns {{a: Object, b: Object}[]} pairs of recordings of the same prompt: the first of them, and another one
 */
export function pairsOf(recordings) {
  const firstOf = ({ prompt }) => recordings.find((other) => other.prompt === prompt);
  return recordings.filter((recording) => firstOf(recording) !== recording).map((b) => ({ a: firstOf(b), b }));
}

const changedInWords = ({ changes }, tokens = []) => msg`changed: ${eachChangeInWords(changes, tokens)}`;
