/** What one query·key pair means, in plain sentences built from the run's numbers. Pure. */

import { whereKeyStands } from "../../../shared/facts/attention.js";
import { counted, percent, quoted } from "../../../shared/facts/format.js";

/**
 * @param {Object} run
 * @param {{layer: number, head: number, query: number, key: number}} place
 * @param {number} weight 0…1
 * @returns {string}
 */
export function pairSentence(run, { layer, head, query, key }, weight) {
  const source = query === key ? "itself" : `${quoted(run.tokens[key])}, ${whereKeyStands(query, key)}`;
  const share = weight === 1 ? "everything" : percent(weight, weight < 0.1 ? 1 : 0);
  return `Head ${head} of layer ${layer}: ${quoted(run.tokens[query])} takes ${share} from ${source}`;
}

/** @returns {string} what q, k and v are, in everyday words */
export function pairWords(run, { query, key }) {
  const [looker, seen] = [
    quoted(run.tokens[query], 12),
    query === key ? "the same token" : quoted(run.tokens[key], 12),
  ];
  return `q is what ${looker} is looking for, k what ${seen} says it has, v what it hands over when it is looked at.`;
}

/** @returns {string} why that is the number, and where to read on */
export function pairReason({ query }) {
  if (query === 0) return "It is the first token and has no other key to read, so its own gets the whole weight.";
  return (
    "Two steps decide that: how well the query fits this key, and how that fit compares with " +
    `the ${counted(query, "other key")} it may read.`
  );
}
