/** Sentences of the effects view. Pure. */

import { fixed, percent, quoted } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

const SMALL = 0.01;

/** @returns {string} a probability from its logarithm: two digits below a percent, so that 0.04 % is not 0.0 % */
export function chance(logprob) {
  const share = Math.exp(logprob);
  return percent(share, share < SMALL ? 2 : share < 0.1 ? 1 : 0);
}

/** @returns {string} a KL divergence in nats */
export function divergence(kl) {
  return kl >= 0.0005 ? fixed(kl, 3) : "<0.001";
}

/** The switches and measures, as the reader chooses them. */
export const SWITCHES = [
  {
    by: "zero",
    name: msg`zeros`,
    says: msg`The part gives zeros to every row. Exact zeros are unusual there, so this can break more than the part’s own work.`,
  },
  {
    by: "mean",
    name: msg`its mean over this prompt`,
    says: msg`The part gives every row the mean of its own rows in this prompt: what differs between rows is gone. The first row counts too.`,
  },
  {
    by: "resample",
    name: msg`its rows from another prompt`,
    says: msg`The part gives each row what it gave at the same position of another text: the other prompt, followed by this run’s answer so far. What the part gives alike in both stays; what it gives differently is replaced.`,
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

/** @returns {string} an effect by a measure; a KL divergence has no sign */
export function amount(measure, value) {
  if (value === null || value === undefined) return "–";
  return measure === "kl" ? divergence(value) : signed(value);
}

/** @returns {string} what the colours of total effects mean */
export function totalScale(measure, largest) {
  return measure === "kl"
    ? msg`KL divergence D(step as it was ‖ with the part replaced) of the next token’s distribution, 0 to ${divergence(largest)} nats (√ scale)`
    : msg`total effect, −${signed(largest).slice(1)} to ${signed(largest)} (√ scale); green, above 0: the measure falls when the part is replaced; pink: it rises`;
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
  return msg`${name}: ${quoted(token)} ${becomes(base, effect)}, KL ${divergence(effect.kl)}`;
}

/** @returns {string} a head, as part of a sentence */
export function headName(at, heads) {
  return msg`layer ${Math.floor(at / heads)}, head ${at % heads}`;
}

/** @returns {string} what was done to a part, as the beginning of a sentence: with other rows in its place it is not absent */
export const replaced = (name) => msg`With ${name} replaced`;

/** @returns {string} what the step's token becomes when `done` is done, and the likeliest token then */
export function effectSentence(done, token, base, effect) {
  const [before, after, text] = [chance(base.logprob), chance(effect.logprob), quoted(token)];
  const moved =
    effect.logprob < base.logprob
      ? msg`${done}, ${text} falls from ${before} to ${after}.`
      : msg`${done}, ${text} rises from ${before} to ${after}.`;
  const next =
    effect.best.id === base.best.id
      ? msg`The likeliest token stays ${quoted(effect.best)}.`
      : msg`The likeliest token becomes ${quoted(effect.best)}.`;
  return before === after ? msg`${done}, ${text} stays at ${before}. ${next}` : `${moved} ${next}`;
}

/** @returns {string[]} what the two maps say together; `facts` from `compared`; `rival`: the probability of the likeliest token but the first, with nothing replaced */
export function comparisonSentences(facts, looks, effects, { heads, tokens, rival }) {
  const count = effects.length;
  const place = (at) => headName(at, heads);
  const share = (at) => percent(looks[at].share, 0);
  const first =
    facts.flips === 0
      ? msg`With any single head of the ${count} replaced, the likeliest next token stays the same.`
      : plural(
          facts.flips,
          form`${facts.flips} of the ${count} heads makes another token the likeliest when it alone is replaced.`,
          form`${facts.flips} of the ${count} heads make another token the likeliest, each when it alone is replaced.`,
        );
  const margin = msg`With nothing replaced, the second likeliest has ${percent(rival, rival < 0.1 ? 1 : 0)}.`;
  const looking = !facts.looking
    ? msg`No head gives at least half of the newest token’s weight to one token that is not the first.`
    : facts.lookingFlips === 0
      ? plural(
          facts.looking,
          form`${facts.looking} head gives at least half of the newest token’s weight to one token that is not the first. With it replaced in every row, the likeliest token stays the same.`,
          form`${facts.looking} heads give at least half of the newest token’s weight to one token that is not the first. With any one of them replaced in every row, the likeliest token stays the same.`,
        )
      : plural(
          facts.looking,
          form`${facts.looking} head gives at least half of the newest token’s weight to one token that is not the first. With it replaced in every row, another token is the likeliest.`,
          form`${facts.looking} heads give at least half of the newest token’s weight to one token that is not the first. With one of them replaced in every row, another token is the likeliest for ${facts.lookingFlips} of them.`,
        );
  const sentences = [`${first} ${margin}`, looking];
  const { looksMost, mattersMost } = facts;
  if (looksMost !== null) {
    const key = quoted(tokens[looks[looksMost].key]);
    sentences.push(
      msg`Of the heads with at most the median KL, ${place(looksMost)} gives the most weight of the newest token to one that is not the first: ${share(looksMost)} on ${key}. Replaced in every row, it gives a KL divergence of ${divergence(effects[looksMost].kl)} (median head: ${divergence(facts.median)}).`,
    );
  }
  if (mattersMost !== null && mattersMost !== looksMost) {
    sentences.push(
      msg`Of the heads whose largest weight from the newest token on any token but the first is below the median head’s, ${place(mattersMost)} has the largest KL: its largest weight on any token but the first is about ${share(mattersMost)}. Replaced in every row, it gives a KL divergence of ${divergence(effects[mattersMost].kl)} (median head: ${divergence(facts.median)}).`,
    );
  }
  return sentences;
}

/** @returns {string} the token, of all but the last, whose absence changes the prediction most */
export function tokenSentence(token, position, effect) {
  return msg`Of all tokens but the last, leaving out ${quoted(token)} at position ${position} changes the prediction most: the KL divergence is ${divergence(effect.kl)}.`;
}
