/**
 * The experiments with speculative decoding: no draft, prompt lookup and the model's first layers; and how many layers. Their
 * conclusions count right guesses and weights read, which are the same on any machine; they do not use times. Pure.
 */

import { fixed, listed, percent } from "../shared/facts/format.js";
import { msg } from "../shared/words/msg.js";
import { BY_LAYERS, bestLayers, draftName, LOOKED_UP } from "./drafts.js";
import { asksForGuesses, guessFigures, guessValue, KINDS, saves } from "./guess-figures.js";

/** @typedef {import("./guess-figures.js").Row} Row */

/** @type {Row[]} */
const ROWS = ["right", "passes", "wrong", "weights", "time", "guessing"];
/** @type {Row[]} */
const LAYER_ROWS = ["right", "weights", "time", "guessing"];

const METHOD = msg`Counted from the second token of each answer. A time is the median pass with guesses times their number, plus the same without guesses, per token.`;
const RULE = msg`A draft pays only if it is both fast and right: each guess costs its own work, and a wrong one a row of the check as well.`;

/** An entry of the list in experiments.js, as is the next. */
export const SPECULATION = {
  id: "draft",
  name: msg`Speculative decoding`,
  about: msg`A draft guesses the next tokens, and one pass checks them all. Prompt lookup takes what followed the same tokens earlier in the text. The other draft is the model’s own first layers, with its final norm and LM head (early exit). Three prompts ask to repeat a sentence, a fourth asks for a new one.`,
  setting: "draft",
  values: (layers) => valuesFor([null, lookedUp(), byLayers(bestLayers(layers))]),
  nameOf: draftName,
  prepare: asksForGuesses,
  figures: guessFigures(ROWS),
  method: METHOD,
  conclusion: (_off, ...drafts) => [...drafts.map(conclusionFor), RULE].join(" "),
};

/** Parts of the layers that are compared. */
const SIXTHS = [1, 2, 3, 4, 5];

export const DRAFT_LAYERS = {
  id: "draft-layers",
  name: msg`A draft from the first layers`,
  about: msg`The model’s first layers guess the next token, and one pass of all layers checks it. How often do they agree? The guessing layers are the model’s own, so they read the keys and values that are in the cache already.`,
  setting: "draft",
  isOf: ({ rounds }) => rounds.every(({ draft }) => draft?.layers > 0),
  values: (layers) => {
    const counts = SIXTHS.map((part) => Math.max(1, Math.round((part * layers) / 6)));
    return valuesFor([...new Set(counts)].map(byLayers));
  },
  nameOf: draftName,
  shortOf: ({ layers }) => String(layers),
  prepare: asksForGuesses,
  figures: guessFigures(LAYER_ROWS),
  method: METHOD,
  conclusion: (...sides) => [agreement(sides), savings(sides), RULE].join(" "),
};

function valuesFor(drafts) {
  return drafts.map((value) => ({ value, name: draftName(value) }));
}

function lookedUp() {
  return { tokens: LOOKED_UP, layers: 0 };
}

function byLayers(layers) {
  return { tokens: BY_LAYERS, layers };
}

/** The figures are in the table below it. */
function conclusionFor({ name, values }) {
  const weights = KINDS.map((_, kind) => guessValue(values, ROWS, "weights", kind));
  const [repeats, fresh] = weights.map(saves);
  const draft = capital(name);
  const [some, more] = weights.map((each) => fixed(each, 2));
  if (repeats && fresh)
    return msg`${draft}: fewer weights read per token in both kinds of answers (${some} and ${more}).`;
  if (repeats)
    return msg`${draft}: fewer weights read per token where the answer repeats the prompt (${some}), not where it is new (${more}).`;
  if (fresh)
    return msg`${draft}: fewer weights read per token where the answer is new (${more}), not where it repeats the prompt (${some}).`;
  return msg`${draft}: no fewer weights read per token (${some} and ${more}).`;
}

function capital(text) {
  return text.charAt(0).toLocaleUpperCase() + text.slice(1);
}

function agreement(sides) {
  const [first, last] = [sides[0], sides.at(-1)].map(({ name, values }) => {
    const [repeats, fresh] = KINDS.map((_, kind) => percent(guessValue(values, LAYER_ROWS, "right", kind) ?? 0, 0));
    return msg`${capital(name)}: ${repeats} right where the answer repeats the prompt, ${fresh} where it is new.`;
  });
  return `${first} ${last}`;
}

function savings(sides) {
  const paying = sides.filter(({ values }) =>
    KINDS.some((_, kind) => saves(guessValue(values, LAYER_ROWS, "weights", kind))),
  );
  if (!paying.length) return msg`None of these drafts read fewer weights per token than the model without a draft.`;
  const names = listed(paying.map(({ name }) => name));
  return msg`Fewer weights per token than without a draft: ${names}.`;
}
