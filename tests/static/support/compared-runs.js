/** Runs with the tokens, attention and distributions that a test of comparisons wants. */

import { madeRun } from "./made-run.js";

const LOG_Z = 10;

/**
 * @param {string[]} words prompt and answer, whose last token was chosen and not computed
 * @param {Object} [parts]
 * @param {string} [parts.model] its sha256
 * @param {string[]} [parts.specials] those words that are special tokens
 * @param {Object<string, number>[]} [parts.likely] by step: probability by word
 */
export function runOf(words, parts = {}) {
  const {
    promptLength = 2,
    model = "m",
    ids = idOf,
    row = evenly,
    likely = [],
    specials = [],
    open = {},
    close = null,
    ...more
  } = parts;
  const tokenOf = (text) => ({
    id: ids(text),
    text,
    bytes: Buffer.from(text).toString("hex"),
    special: specials.includes(text),
  });
  const run = madeRun({ words: words.slice(0, -1), promptLength, row, ...more });
  run.tokens = words.map(tokenOf);
  run.open = { ...run.open, model: { ...run.open.model, sha256: model }, parent: null, study: null, ...open };
  run.close = close;
  run.saved = null;
  run.steps.forEach((step, at) => {
    const chosen = words[promptLength + at];
    const all = Object.entries(likely[at] ?? { [chosen]: 0.5 }).sort(([, p], [, q]) => q - p);
    step.topIds = Int32Array.from(all, ([text]) => ids(text));
    step.topLogits = Float32Array.from(all, ([, p]) => Math.log(p) + LOG_Z);
    const share = Object.fromEntries(all)[chosen] ?? null;
    Object.assign(step.data, {
      log_z: LOG_Z,
      top_tokens: all.map(([text]) => tokenOf(text)),
      token: { ...tokenOf(chosen), prob: share, raw_prob: share },
    });
  });
  return run;
}

/** The same word has the same id in every run of a test. */
const known = new Map();
function idOf(text) {
  if (!known.has(text)) known.set(text, known.size);
  return known.get(text);
}

function evenly(_layer, _head, query) {
  return new Array(query + 1).fill(Math.round(255 * Math.sqrt(1 / (query + 1))));
}
