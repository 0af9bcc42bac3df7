/** Sentences about one query·key pair, with the run's numbers. Pure. */

import { keysRead, whereKeyStands } from "../../../shared/facts/attention.js";
import { integer, percent, quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/**
 * Says how much attention a query gives to a key.
 *
 * @param {Object} run
 * @param {{layer: number, head: number, query: number, key: number}} place
 * @param {number} weight 0…1
 * @returns {string}
 */
export function pairSentence(run, { layer, head, query, key }, weight) {
  const share = percent(weight, weight < 0.1 ? 1 : 0);
  const token = quoted(run.tokens[query]);
  if (query === key) return msg`Head ${head} of layer ${layer}: ${token} gives ${share} of its attention to itself`;
  const read = quoted(run.tokens[key]);
  const where = whereKeyStands(query, key);
  return msg`Head ${head} of layer ${layer}: ${token} gives ${share} of its attention to ${read}, ${where}`;
}

/** @returns {string} what q, k and v of this pair mean */
export function vectorSentence(run, { query, key }) {
  const token = quoted(run.tokens[query], 12);
  const read = quoted(run.tokens[key], 12);
  return msg`The query q describes what ${token} looks for, the key k what ${read} contains. The value v is what ${read} adds to the output.`;
}

/** @returns {string} how the weight comes about */
export function weightSentence(run, { layer, query }) {
  if (query === 0) return msg`The first token can read only its own key, so that key gets the whole weight.`;
  const read = keysRead(run, layer, query) - 1;
  const others = integer(read);
  const large = plural(
    read,
    form`The weight is large where q matches k better than it matches the ${others} other key.`,
    form`The weight is large where q matches k better than it matches the ${others} other keys.`,
  );
  if (read === query) return large;
  return `${large} ${msg`This layer is local: it reads only the newest ${integer(read + 1)} keys.`}`;
}
