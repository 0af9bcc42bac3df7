/** The logit lens in a sentence: after which layers the chosen token is the best guess. Pure. */

import { integer, percent, quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/**
 * Finds the layers after which the chosen token leads.
 *
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
 * Says from which layer on the chosen token is the best guess.
 *
 * @param {{token: Object, layers: Object[]}} lens from the server
 * @returns {string} one sentence
 */
export function lensSentence({ token, layers }) {
  const name = quoted(token);
  const { first, lasting } = leadOf(layers);
  const top = layers.length - 1;
  const { rank, prob } = layers[top].chosen;
  if (first === top && top === 0) return msg`${name} is the best guess after the only layer.`;
  if (lasting === 0)
    return plural(
      layers.length,
      form`${name} is the best guess after ${layers.length} layer.`,
      form`${name} is the best guess after each of the ${layers.length} layers.`,
    );
  if (first === top) return msg`${name} becomes the best guess only after the last layer, ${top}.`;
  if (lasting !== null && lasting === first)
    return msg`${name} first becomes the best guess after layer ${lasting}, and remains it after all later layers.`;
  if (lasting === top)
    return msg`${name} first becomes the best guess after layer ${first}. After layer ${lasting - 1}, another token is ahead; after the last layer, ${top}, it is ${name} again.`;
  if (lasting !== null)
    return msg`${name} first becomes the best guess after layer ${first}. After layer ${lasting - 1}, another token is ahead; from layer ${lasting} on, it is ${name} again.`;
  const [last, share] = [integer(rank + 1), percent(prob)];
  return first === null
    ? msg`${name} is not the best guess after any layer. After the last layer, it has rank ${last}, with ${share}.`
    : msg`${name} is the best guess after layer ${first}, but not after the last layer. There it has rank ${last}, with ${share}.`;
}

/**
 * Says what the logit lens reads after one layer.
 *
 * @param {Object} lens
 * @param {number} layer the last layer that is shown
 * @returns {string} what the logit lens reads after that layer
 */
export function readingSentence({ token, layers }, layer) {
  const { top, chosen } = layers[layer];
  const [guess, share] = [quoted(top[0]), percent(top[0].prob, 0)];
  const reading =
    chosen.rank === 0
      ? msg`After layer ${layer}, the best guess is ${guess} (${share}).`
      : msg`After layer ${layer}, the best guess is ${guess} (${share}); ${quoted(token)} has rank ${integer(chosen.rank + 1)}.`;
  return layer < layers.length - 1 ? `${reading} ${msg`Training used only the last layer in this way.`}` : reading;
}

/**
 * Length of a bar for a probability: its square root, as for attention, so that small ones are visible.
 *
 * @param {number} prob 0…1
 * @returns {number} 0…1
 */
export function barShare(prob) {
  return Math.sqrt(prob);
}
