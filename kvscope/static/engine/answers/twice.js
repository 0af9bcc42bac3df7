/** `operations?step=&layer=`: one layer of a decode step with the cache and without it, as kvscope/model/activations/twice.py. */

import { fewEnough } from "./bounds.js";
import { cachedRows, QKV, turned } from "./exact.js";
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
