/** Sentences of the effects view. Pure. */

import { fixed, percent, quoted, significant } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

const SMALL = 0.01;

/** @returns {string} a probability from its logarithm: two digits below a percent, so that 0.04 % is not 0.0 % */
export function chance(logprob) {
  const share = Math.exp(logprob);
  return percent(share, share < SMALL ? 2 : share < 0.1 ? 1 : 0);
}

/** @returns {string} a distance in nats */
export function distance(kl) {
  return kl >= 0.0005 ? fixed(kl, 3) : "<0.001";
}

/** The switches and measures, as the reader chooses them. */
export const SWITCHES = [
  {
    by: "zero",
    name: msg`zeros`,
    says: msg`The part gives zeros to every row. A model never saw zeros there, so this can break more than the part’s own work.`,
  },
  {
    by: "mean",
    name: msg`its mean over this prompt`,
    says: msg`The part gives every row the mean of its own rows in this prompt: what it says about single tokens is gone, what it says everywhere stays.`,
  },
  {
    by: "resample",
    name: msg`its rows from another prompt`,
    says: msg`The part gives each row what it gave at the same position of another prompt. What both prompts share stays; only what differs shows.`,
  },
  {
    by: "reference",
    name: msg`its mean over a reference set`,
    says: msg`The part gives every row the mean of its rows in several other prompts, the first row of each included.`,
  },
];

export const MEASURES = [
  { measure: "kl", name: msg`whole distribution (KL)`, unit: msg`nats` },
  { measure: "probability", name: msg`probability of the token (ln)`, unit: msg`nats` },
  { measure: "difference", name: msg`logit difference to a foil`, unit: msg`logits` },
];

/** @returns {string} an effect by a measure; a distance has no sign */
export function amount(measure, value) {
  if (value === null || value === undefined) return "–";
  return measure === "kl" ? distance(value) : signed(value);
}

/** @returns {string} a number with its sign */
export function signed(value) {
  return `${value < 0 ? "−" : "+"}${fixed(Math.abs(value), 2)}`;
}

/** @returns {string} how far two lists of effects agree; `rho` null: one list is all alike */
export function agreementSentence(one, other, { rho, shared }, top) {
  if (rho === null)
    return msg`${one} and ${other}: all values of one of them are equal, so there is no rank correlation.`;
  return msg`${one} and ${other}: rank correlation (Spearman, by size) ${signed(rho)}; ${shared} of the ${top} largest are the same heads.`;
}

/** @returns {string} the probability of the step's token before and after */
export function becomes(base, effect) {
  return `${chance(base.logprob)} → ${chance(effect.logprob)}`;
}

/** @returns {string} a part, and how the step's token changes without it, once that is measured */
export function effectTitle(name, token, base, effect) {
  if (!effect) return name;
  return msg`${name}: ${quoted(token)} ${becomes(base, effect)}, distance ${distance(effect.kl)}`;
}

/** @returns {string} a head, as part of a sentence */
export function headName(at, heads) {
  return msg`layer ${Math.floor(at / heads)}, head ${at % heads}`;
}

/** @returns {string} the probability of the step's token with and without one part, and the likeliest token without it */
export function effectSentence(name, token, base, effect) {
  const [before, after, text] = [chance(base.logprob), chance(effect.logprob), quoted(token)];
  const moved =
    effect.logprob < base.logprob
      ? msg`Without ${name}, ${text} falls from ${before} to ${after}.`
      : msg`Without ${name}, ${text} rises from ${before} to ${after}.`;
  const next =
    effect.best.id === base.best.id
      ? msg`The likeliest token stays ${quoted(effect.best)}.`
      : msg`The likeliest token becomes ${quoted(effect.best)}.`;
  return before === after ? msg`Without ${name}, ${text} stays at ${before}. ${next}` : `${moved} ${next}`;
}

/** @returns {string[]} what the two maps say together; `facts` from `compared` */
export function comparisonSentences(facts, looks, effects, { heads, tokens }) {
  const count = effects.length;
  const place = (at) => headName(at, heads);
  const share = (at) => percent(looks[at].share, 0);
  const first =
    facts.flips === 0
      ? msg`Without any single head of the ${count}, the likeliest next token stays the same.`
      : plural(
          facts.flips,
          form`${facts.flips} of the ${count} heads makes another token the likeliest when it is switched off.`,
          form`${facts.flips} of the ${count} heads make another token the likeliest, each when it alone is switched off.`,
        );
  const looking =
    facts.lookingFlips === 0
      ? plural(
          facts.looking,
          form`${facts.looking} head gives at least half of its weight to one token that is not the first. Without it, the likeliest token stays the same.`,
          form`${facts.looking} heads give at least half of their weight to one token that is not the first. Without any one of them, the likeliest token stays the same.`,
        )
      : plural(
          facts.looking,
          form`${facts.looking} head gives at least half of its weight to one token that is not the first. Without it, another token is the likeliest.`,
          form`${facts.looking} heads give at least half of their weight to one token that is not the first. Only without ${facts.lookingFlips} of them is another token the likeliest.`,
        );
  const sentences = [first, looking];
  if (facts.looksMost !== null) {
    const at = facts.looksMost;
    const key = quoted(tokens[looks[at].key]);
    sentences.push(
      msg`Looks a lot, and little changes without it: ${place(at)} gives ${key} ${share(at)}; the distance (KL) without it is ${distance(effects[at].kl)}, no more than that of the median head. Other heads may make up for it.`,
    );
  }
  if (facts.mattersMost !== null && facts.mattersMost !== facts.looksMost) {
    const at = facts.mattersMost;
    sentences.push(
      msg`Looks little, and much changes without it: ${place(at)} gives no token but the first more than ${share(at)}; the distance (KL) without it is ${distance(effects[at].kl)}, ${significant(effects[at].kl / Math.max(facts.median, 1e-9))} times that of the median head.`,
    );
  }
  return sentences;
}

/** @returns {string} the token, of all but the last, whose absence changes the prediction most */
export function tokenSentence(token, position, effect) {
  return msg`Of all tokens but the last, leaving out ${quoted(token)} at position ${position} changes the prediction most: the distance (KL) is ${distance(effect.kl)}.`;
}
