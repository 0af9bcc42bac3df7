/** What the model answers without a run (docs/frames.md, Of the vocabulary). */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { among, someText } from "./bounds.js";
import { dot, planeOf } from "./plane.js";
import { largestOf } from "./predictions.js";

const MOST_PROMPT_CHARS = 8192;
const NEAREST = 12;
/** The least and the most words that are compared, and the most characters of one. */
const WORDS = [2, 8];
const MOST_WORD_CHARS = 40;
/** Rows of the embedding table that are dequantized together. */
const ROWS_AT_ONCE = 1024;

/** `token?token=`: a token as frames have it. */
export function token({ info, tokenizer }, _log, { token: id }) {
  among("token", id, info.vocab);
  return { value: tokenizer.token(id) };
}

/** `POST /api/tokens` */
export function tokens({ tokenizer, limits }, _log, { prompt, chat = false }) {
  someText("prompt", prompt, MOST_PROMPT_CHARS);
  const ids = chat ? tokenizer.encodeChat(prompt) : tokenizer.encode(prompt);
  const limit = limits.prompt_tokens;
  const sizes = { count: ids.length, limit, positions: limits.positions, row_ms: null, step_ms: null };
  return { value: { tokens: ids.slice(0, limit).map(tokenizer.token), ...sizes } };
}

/** `GET /api/embedding?token=` */
export function embedding({ model, info, tokenizer }, _log, { token: id }) {
  among("token", id, info.vocab);
  const row = embeddingOf(model, id);
  const length = Math.hypot(...row);
  const nearest = length ? nearestOf(model, info.vocab, id, row, length) : [];
  return {
    value: {
      token: tokenizer.token(id),
      row: Array.from(row),
      length,
      nearest: nearest.map(({ other, cosine }) => ({ ...tokenizer.token(other), cosine })),
      plane: planeOf([row, ...nearest.map(({ other }) => embeddingOf(model, other))]),
      vocab: info.vocab,
      tied: info.tied,
    },
  };
}

/** `POST /api/words` */
export function words({ model, tokenizer, info }, _log, { words: all }) {
  const [least, most] = WORDS;
  if (!(all?.length >= least && all.length <= most)) {
    throw new Refused(422, msg`words must be a list of ${least} to ${most} items.`, { field: "words", limit: WORDS });
  }
  const compared = all.map((word, at) => {
    someText(`words[${at}]`, word, MOST_WORD_CHARS);
    const ids = tokenizer.encode(` ${word}`, { special: true, field: "words" });
    const detail = msg`The model's vocabulary has no token for ${JSON.stringify(word)}.`;
    if (!ids.length) throw new Refused(422, detail, { field: "words" });
    const row = meanOf(ids.map((id) => embeddingOf(model, id)));
    return { word, ids, row, length: Math.sqrt(dot(row, row)) };
  });
  const cosineOf = (a, b) => (a.length && b.length ? dot(a.row, b.row) / (a.length * b.length) : null);
  return {
    value: {
      words: compared.map(({ word, ids, length }) => ({ word, tokens: ids.map(tokenizer.token), length })),
      cosines: compared.map((a) => compared.map((b) => cosineOf(a, b))),
      plane: planeOf(compared.map(({ row }) => row)),
      width: info.d,
    },
  };
}

const embeddingOf = (model, id) => model.rowsOf(model.shape.table, id, 1);

const meanOf = (rows) => Float32Array.from(rows[0], (_, i) => rows.reduce((sum, row) => sum + row[i], 0) / rows.length);

/** Returns the other rows with the largest cosines to a row, largest first. A row of length 0 has no direction: −1. */
function nearestOf(model, vocab, id, row, length) {
  const cosines = new Float32Array(vocab);
  for (let first = 0; first < vocab; first += ROWS_AT_ONCE) {
    const count = Math.min(ROWS_AT_ONCE, vocab - first);
    const rows = model.rowsOf(model.shape.table, first, count);
    for (let i = 0; i < count; i++) {
      const other = rows.subarray(i * row.length, (i + 1) * row.length);
      const own = Math.sqrt(dot(other, other));
      cosines[first + i] = own ? dot(other, row) / (own * length) : -1;
    }
  }
  cosines[id] = Number.NEGATIVE_INFINITY;
  const best = largestOf(cosines, Math.min(NEAREST, vocab - 1));
  return best.map((other) => ({ other, cosine: cosines[other] }));
}
