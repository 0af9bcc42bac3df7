/**
 * `operations?step=&layer=` and `algebra?step=&layer=&head=`: a decode step with the cache and without it, as
 * kvscope/model/activations/twice.py and answers.py.
 */

import { fewEnough, isFew } from "./bounds.js";
import { cachedRows, columnsOf, headIn, QKV, tensors, turned } from "./exact.js";
import { observe, withRowsBefore } from "./rows.js";
import { inModel, textBefore } from "./text.js";

/** The field of a model that says whether it has these hook points of a layer. */
const OF_SOME = {
  ...{ "attn.q_raw": "qk_norm", "attn.k_raw": "qk_norm", "mlp.gate": "gated" },
  ...{ "attn.raw_change": "post_norms", "mlp.raw_change": "post_norms" },
  ...{ "mlp.probabilities": "experts", "mlp.chosen": "experts", "mlp.shares": "experts" },
};
const OVER_KEYS = ["attn.scores", "attn.weights"];

export function operations(engine, log, { step, layer }) {
  const { info, model } = engine;
  inModel(engine, { layer });
  const text = textBefore(engine, log, step, 1);
  fewEnough(text.ids);
  const newest = text.ids.length - 1;
  const points = Object.keys(model.points).filter((name) => !OF_SOME[name] || info[OF_SOME[name]]);
  const before = valuesAt(engine, { ...text, ids: text.ids.slice(0, -1) }, { first: 0, layer, points });
  const [cached, again] = [newest, 0].map((first) => valuesAt(engine, text, { first, layer, points }));
  const stored = withRowsBefore(engine, text, newest, (slots) => cachedRows(engine, layer, slots(newest)));
  const inCache = Object.fromEntries(["k", "v"].map((name) => [QKV[name], inRows(turned(stored[name]).data, newest)]));
  const operations = points.map((name) => ({
    name,
    cached: name in inCache,
    old: difference(inCache[name] ?? before[name], again[name]),
    new: difference(cached[name], { ...again[name], data: again[name].data.subarray(-cached[name].data.length) }),
  }));
  return { value: { operations } };
}

/** One head and its layer: the newest row with the cache, and all rows without it. */
export function algebra(engine, log, { step, layer, head }) {
  inModel(engine, { layer, head });
  const text = textBefore(engine, log, step, 1);
  const newest = text.ids.length - 1;
  const cached = headIn(engine, text, newest, { layer, head });
  if (!isFew(text.ids)) {
    const { q, k, v, output } = headIn(engine, text, 0, { layer, head });
    return tensors({ ...cached, ...named("again", { q, k, v, output }) });
  }
  const rows = (ids, first) => rowsOfStep(engine, { ...text, ids }, { first, layer, head });
  const [now, all] = [newest, 0].map((first) => rows(text.ids, first));
  const before = newest ? rows(text.ids.slice(0, -1), 0) : {};
  const changed = Object.entries(before).filter(
    ([name, value]) => !IN_CACHE.includes(name) && difference(value, all[name]).largest > 0,
  );
  const inLayer = Object.fromEntries(OF_LAYER.filter((name) => name in now).map((name) => [name, now[name]]));
  const rest = { ...inLayer, ...named("again", all), ...named("before", Object.fromEntries(changed)) };
  return tensors({ ...cached, ...Object.fromEntries(Object.entries(rest).map(([name, rows]) => [name, flat(rows)])) });
}

/** Hook points of a whole layer that `algebra` adds. */
const OF_LAYER = ["attn.normed", "attn.change", "resid_mid", "mlp.hidden", "resid_out"];
/** Hook points of a query head and its KV head, by name. */
const OF_HEAD = { ...QKV, scores: "attn.scores", weights: "attn.weights", output: "attn.mixed" };
/** Those of the KV head, which the cache holds. */
const IN_CACHE = ["k", "v"];

const flat = ({ shape: [rows, , width], data }) => ({ shape: [rows, width], data });
const named = (suffix, values) =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [`${name}_${suffix}`, value]));

/** Returns the values of one query head and of its layer in the rows from `first` on, [rows, 1, numbers of a row] by name. */
function rowsOfStep(engine, text, { first, layer, head }) {
  const { info } = engine;
  const whole = OF_LAYER.filter((name) => name !== "mlp.hidden" || !info.experts);
  const all = valuesAt(engine, text, { first, layer, points: [...Object.values(OF_HEAD), ...whole] });
  const kvHead = Math.floor((head * info.kv_heads) / info.heads);
  const ofHead = Object.entries(OF_HEAD).map(([name, point]) => {
    return [name, ofOneHead(all[point], point, IN_CACHE.includes(name) ? kvHead : head, info)];
  });
  return Object.fromEntries([...ofHead, ...whole.map((name) => [name, all[name]])]);
}

/** Returns one head's numbers of each row. */
function ofOneHead({ shape: [rows, lines, count], data }, point, head, { head_dim: width }) {
  if (!OVER_KEYS.includes(point))
    return { shape: [rows, 1, width], data: columnsOf({ shape: [rows, count], data }, head, width) };
  return { shape: [rows, 1, count], data: columnsOf({ shape: [rows, lines * count], data }, head, count) };
}

/** Returns by hook point the values of a layer in the rows from `first` on, [rows, lines, numbers of a line]. */
function valuesAt(engine, text, { first, layer, points }) {
  const rows = text.ids.length - first;
  const values = {};
  observe(engine, text, {
    ...{ first, end: layer + 1 },
    onLayer(each, value) {
      if (each !== layer) return;
      for (const name of points) {
        const data = value(name);
        const { heads } = engine.info;
        values[name] = OVER_KEYS.includes(name)
          ? turned({ shape: [heads, rows, text.ids.length], data })
          : inRows(data, rows);
      }
    },
  });
  return values;
}

const inRows = (data, rows) => ({ shape: [rows, 1, data.length / rows], data });

/**
 * Returns the largest |difference| of the same rows in two passes, and the largest |value|. Of scores and weights, an older row has only the
 * keys of its own pass.
 */
function difference({ shape: [rows, lines, count], data }, { shape: [, , wide], data: other }) {
  const result = { largest: 0, size: 0 };
  for (let line = 0; line < rows * lines; line++)
    for (let i = 0; i < count; i++) {
      const number = data[line * count + i];
      result.largest = Math.max(result.largest, Math.abs(number - other[line * wide + i]));
      result.size = Math.max(result.size, Math.abs(number));
    }
  return result;
}
