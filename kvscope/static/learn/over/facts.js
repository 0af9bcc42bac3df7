/** The facts of a run that expressions in a lesson may name, as app/learn/facts.py gives them of a server's run. Pure. */

import { bytesShort, fixed, percent } from "../../shared/facts/format.js";
import { weightOf } from "../../shared/log/companding.js";
import { blockSizeOf } from "../../shared/log/model.js";
import { msg } from "../../shared/words/msg.js";
import { NotComputed } from "./evaluate.js";

/** Writes a token as in a sentence: without the space before it, a newline as ⏎. */
const written = (text) => text.replace(/^ /, "").replaceAll("\n", "⏎");

/** Writes a share in whole percent; with decimals near 0 and 1, and bounds in words. */
function inPercent(share) {
  const value = 100 * share;
  const digits = value >= 98.5 ? 1 : value >= 0.95 ? 0 : value >= 0.095 ? 1 : 2;
  return percent(share, digits).replace("<\u202f", `${msg`less than`} `).replace(">\u202f", `${msg`more than`} `);
}

/** Rounds as Python does: a half to the even number. */
function rounded(value, digits = 0) {
  const scale = 10 ** digits;
  const low = Math.floor(value * scale);
  const isHalf = value * scale - low === 0.5;
  return (isHalf ? low + Math.abs(low % 2) : Math.round(value * scale)) / scale;
}

/** Functions that need no run. */
const FORMATS = {
  percent: inPercent,
  size: bytesShort,
  fixed: (value, digits = 3) => fixed(value, digits, true),
  round: rounded,
  int: Math.trunc,
  abs: Math.abs,
  min: (...values) => Math.min(...values.flat()),
  max: (...values) => Math.max(...values.flat()),
  len: (values) => [...values].length,
  sum: (values) => values.reduce((total, value) => total + value, 0),
  sqrt: Math.sqrt,
  exp: Math.exp,
  ceil: Math.ceil,
};

/**
 * @param {import("../../shared/log/run.js").Run} run
 * @param {Object<string, Object>} byHand the worked examples by name, as GET /api/by-hand/… returns them
 * @returns {import("./evaluate.js").Scope} its functions throw NotComputed for a step, layer, head or position out of range
 */
export function factsOf(run, byHand) {
  const { model } = run.open;
  const steps = run.steps.map(({ data }) => ({ ...data, token: { ...data.token, text: written(data.token.text) } }));
  const local = (model.windows ?? []).filter((window) => window !== null).length;
  const last = steps.at(-1)?.kv;
  const names = {
    model: {
      ...{ ...model, head_count: model.layers * model.heads },
      ...{ local_layers: local, global_layers: model.layers - local },
    },
    prompt: { tokens: run.promptLength, text: run.open.prompt },
    tokens: run.tokens.map(({ text }) => written(text)),
    steps,
    answer: {
      tokens: steps.length,
      text: run.tokens
        .slice(run.promptLength)
        .map(({ text }) => text)
        .join(""),
    },
    sampling: run.open.sampling ?? {},
    block_size: blockSizeOf(run),
    reason: run.close?.reason ?? "",
    passes: [],
    rounds: [],
    ...(last && { kv: cacheOf(model, last) }),
  };
  return { names, functions: { ...FORMATS, by_hand: workedOut(byHand), ...functionsOf(run) } };
}

/** Returns the last step's cache. `bytes_per_token`: measured bytes per position; `formula`: what the model's sizes give. */
function cacheOf({ layers, kv_heads: heads, head_dim: width, element_bytes: bytes }, last) {
  const perToken = Math.floor(last.bytes_used / last.positions);
  return { ...last, bytes_per_token: perToken, formula: 2 * layers * heads * width * bytes };
}

function functionsOf(run) {
  const stepAt = (step) => at(step, run.steps, msg`step`);
  const weight = (layer, head, query, key) => {
    const row = run.row(layer, head, query);
    if (row && key >= 0 && key <= query) return weightOf(row[key]);
    throw new NotComputed(msg`no step of this run computed the weight of query ${query} and key ${key}`);
  };
  const logit = (step, rank) => at(rank, stepAt(step).topLogits, msg`rank`);
  const none = (number) => at(number, [], msg`pass`);
  return {
    rows: none,
    blocks: none,
    token: (position) => written(at(position, run.tokens, msg`position`).text),
    weight,
    strongest(layer, head, query, ...without) {
      const keys = Array.from({ length: query + 1 }, (_, key) => key).filter((key) => !without.includes(key));
      const weights = keys.map((key) => weight(layer, head, query, key));
      return keys[weights.indexOf(Math.max(...weights))];
    },
    experts: (layer, position) => run.experts(layer, position).map(({ expert }) => expert),
    share: (layer, position, rank) => at(rank, run.experts(layer, position), msg`rank`).share,
    logit,
    chance: (step, rank) => Math.exp(logit(step, rank) - stepAt(step).data.log_z),
    sampled_chance: (step, rank) => sampledChance(run.open.sampling ?? {}, stepAt(step).data, rank, logit(step, rank)),
    candidate: (step, rank) => written(at(rank, stepAt(step).data.top_tokens, msg`rank`).text),
    prob: (step) => stepAt(step).data.token.prob,
  };
}

/** Returns a candidate's probability among those that the run sampled from. Greedy: 1 for rank 0, else 0. */
function sampledChance({ strategy, temperature }, { token, log_z: logZ, filters }, rank, score) {
  if (strategy !== "sample") return Number(rank === 0);
  if (token.forced || token.prob === null) {
    throw new NotComputed(msg`the token of this step was set, not chosen, so nothing is known of its filters`);
  }
  // The chosen token was scaled and filtered in the same way.
  const chosen = Math.log(token.raw_prob) + logZ;
  return rank < filters.kept_top_p ? token.prob * Math.exp((score - chosen) / temperature) : 0;
}

/** Returns the function that reads a number, row or matrix of a worked example: `by_hand("a", "prefill.weights", 0, 2, 1)`. */
function workedOut(examples) {
  return (example, name, ...places) => {
    let value = examples[example];
    for (const part of name.split(".")) value = value?.[part];
    if (value === undefined) throw new NotComputed(msg`the example ${example} has no ${name}`);
    for (const place of places) value = at(place, value, msg`place`);
    return value;
  };
}

/** @param {string} what is counted, for the message */
function at(index, things, what) {
  if (Number.isInteger(index) && index >= 0 && index < things.length) return things[index];
  throw new NotComputed(msg`this run has no ${what} ${index}; it has ${things.length}`);
}
