/** What a logit lens says: when the token that was chosen became the best guess. Pure. */

import { counted, integer, percent, quoted } from "../../../shared/facts/format.js";

/**
 * @param {{layer: number, chosen: {prob: number, rank: number}}[]} layers from the bottom up
 * @returns {{first: number|null, lasting: number|null}} the first layer after which the chosen token is the best guess,
 *   and the layer from which on it always is
 */
export function leadOf(layers) {
  const leads = layers.map(({ chosen }) => chosen.rank === 0);
  const first = leads.indexOf(true);
  const lost = leads.lastIndexOf(false);
  const lasting = lost + 1;
  return { first: first < 0 ? null : first, lasting: lasting < layers.length ? lasting : null };
}

/**
 * @param {{token: Object, layers: Object[]}} lens as the server gives it
 * @returns {string} one sentence
 */
export function lensSentence({ token, layers }) {
  const name = quoted(token);
  const { first, lasting } = leadOf(layers);
  const top = layers.length - 1;
  const { rank, prob } = layers[top].chosen;
  if (first === top && top === 0) return `${name} is the best guess after the only layer.`;
  if (lasting === 0) return `${name} is the best guess after every one of the ${counted(layers.length, "layer")}.`;
  if (first === top) return `${name} becomes the best guess only after the last layer, ${top}.`;
  if (lasting !== null && lasting === first)
    return `${name} first becomes the best guess after layer ${lasting}, and stays it.`;
  if (lasting !== null) {
    return `${name} is first the best guess after layer ${first}, loses the lead, and keeps it from layer ${lasting} on.`;
  }
  const end = `in the end it is number ${integer(rank + 1)}, with ${percent(prob)}`;
  if (first === null) return `${name} is not the best guess after any layer: ${end}.`;
  return `${name} is the best guess after layer ${first}, but not after the last one: ${end}.`;
}

/**
 * @param {Object} lens
 * @param {number} layer that the newest row has just left
 * @returns {string} one sentence
 */
export function readingSentence({ token, layers }, layer) {
  const { top, chosen } = layers[layer];
  const says = `After layer ${layer} the newest row would say ${quoted(top[0])} (${percent(top[0].prob, 0)})`;
  const read = layer < layers.length - 1 ? " Only the last layer was trained to be read so." : "";
  return `${chosen.rank === 0 ? says : `${says}; ${quoted(token)} is its number ${integer(chosen.rank + 1)}`}.${read}`;
}

/**
 * Where a probability stands on a bar that also shows small ones: square root, as for attention.
 *
 * @param {number} prob 0…1
 * @returns {number} 0…1
 */
export function barShare(prob) {
  return Math.sqrt(prob);
}
