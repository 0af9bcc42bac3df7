/** What rows predict for the next token (docs/frames.md, On demand): `lens`, `candidates`, `losses`. */

import { stack } from "../../shared/log/stored-values.js";
import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { logSumOf, probabilityOf } from "../sampling/choose.js";
import { someText } from "./bounds.js";
import { decodeRows, observe } from "./rows.js";
import { textBefore } from "./text.js";

/** Tokens that the lens shows of a layer. */
const LENS_TOP = 5;
const MOST_CANDIDATE_CHARS = 64;

/** `lens?step=` */
export function lens(engine, log, { step }) {
  const text = textBefore(engine, log, step);
  const rows = [];
  const onLayer = (_, value) => rows.push(value("resid_out"));
  observe(engine, text, { first: text.ids.length - 1, onLayer });
  return { value: lensOf(engine, rows, log.ids[text.ids.length]) };
}

/**
 * @param {import("./rows.js").Engine} engine
 * @param {Float32Array[]} rows of the residual stream after each layer
 * @param {number} token
 * @returns {Object} the logit lens (nostalgebraist 2020), as `lens` gives it
 */
export function lensOf(engine, rows, token) {
  const { tokenizer } = engine;
  const layers = decodeRows(engine, stack(rows), (logits, summary, layer) => {
    return {
      layer,
      top: largestOf(logits, LENS_TOP).map((id) => ({
        ...tokenizer.token(id),
        prob: probabilityOf(summary, logits[id]),
      })),
      chosen: { prob: probabilityOf(summary, logits[token]), rank: rankOf(logits, token) },
    };
  });
  return { token: tokenizer.token(token), layers };
}

/** `candidates?step=&text=` */
export function candidates(engine, log, { step, text: typed }) {
  const text = textBefore(engine, log, step);
  someText("text", typed, MOST_CANDIDATE_CHARS);
  const { tokenizer } = engine;
  const spelled = [typed, ` ${typed}`]
    .map((each) => tokenizer.encode(each, { special: true, field: "text" }))
    .filter((ids) => ids.length);
  const whole = new Map(spelled.map(([first, ...rest]) => [first, rest.length === 0]));
  if (!whole.size) {
    throw new Refused(422, msg`The model's vocabulary has no token for this text.`, { field: "text" });
  }
  const all = observe(engine, text, { first: text.ids.length - 1, outs: [0] }, ({ logits, summary }) => {
    const own = summary(0);
    return [...whole].map(([id, isWhole]) => {
      const standing = { logit: logits[id], prob: probabilityOf(own, logits[id]), rank: rankOf(logits, id) };
      return { ...tokenizer.token(id), ...standing, whole: isWhole };
    });
  });
  return { value: { candidates: all.sort((a, b) => Number(b.whole) - Number(a.whole) || a.rank - b.rank) } };
}

/** `losses` */
export function losses(engine, log) {
  const { info, tokenizer } = engine;
  const { ids, ...text } = textBefore(engine, log, 0);
  let rows = new Float32Array(0);
  const onLayer = (layer, value) => {
    if (layer === info.layers - 1) rows = value("resid_out");
  };
  observe(engine, { ids, ...text }, { first: 0, onLayer });
  const positions = decodeRows(engine, rows, (logits, summary, position) => {
    const { best } = summary;
    const next = ids[position + 1];
    const came = next === undefined ? null : cameOf(logits, summary, next);
    return { best: { ...tokenizer.token(best), prob: probabilityOf(summary, logits[best]) }, came };
  });
  const all = positions.flatMap(({ came }) => (came ? [came.loss] : []));
  const loss = all.length ? all.reduce((sum, each) => sum + each, 0) / all.length : null;
  const logitsBytes = info.vocab * Float32Array.BYTES_PER_ELEMENT;
  const kv = ids.length * 2 * info.layers * info.kv_heads * info.head_dim * info.element_bytes;
  const bytes = { logits: ids.length * logitsBytes, last_logits: logitsBytes, kv };
  return { value: { positions, loss, perplexity: loss === null ? null : Math.exp(loss), bytes } };
}

function cameOf(logits, summary, token) {
  const log = logits[token] - logSumOf(summary);
  return { prob: Math.exp(log), rank: rankOf(logits, token), loss: Math.max(0, -log) };
}

/** @returns {number} how many tokens have a larger logit */
function rankOf(logits, token) {
  const own = logits[token];
  let rank = 0;
  for (let id = 0; id < logits.length; id++) if (logits[id] > own) rank += 1;
  return rank;
}

/** @returns {number[]} the ids of the `count` largest numbers, largest first */
export function largestOf(numbers, count) {
  const ids = [];
  for (let id = 0; id < numbers.length; id++) {
    if (ids.length === count && !(numbers[id] > numbers[ids[count - 1]])) continue;
    let at = ids.length;
    while (at > 0 && numbers[id] > numbers[ids[at - 1]]) at -= 1;
    ids.splice(at, 0, id);
    ids.length = Math.min(ids.length, count);
  }
  return ids;
}
