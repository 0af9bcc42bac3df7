/** `contributions?step=&layer=&position=`: what each head adds to a token's row, as kvscope/model/activations/contributions.py. */

import { among } from "./bounds.js";
import { ownRows, tensors } from "./exact.js";
import { inModel, textBefore } from "./text.js";
import { matrixRows, partOf } from "./weights.js";

export function contributions(engine, log, { step, layer, position }) {
  const { info, model } = engine;
  inModel(engine, { layer });
  const before = textBefore(engine, log, step);
  among("position", position, before.ids.length);
  const text = { ...before, ids: before.ids.slice(0, position + 1) };
  const change = info.post_norms ? "attn.raw_change" : "attn.change";
  const own = ownRows(engine, text, position, layer, ["attn.mixed", change]);
  const { rows, at, bias } = partOf(engine, layer, "attn.out");
  const partials = partsOf(own["attn.mixed"], matrixRows(model, at, 0, rows), info);
  const sum = Float32Array.from({ length: rows }, (_, row) => {
    let total = bias ? bias[row] : 0;
    for (let part = row; part < partials.length; part += rows) total += partials[part];
    return total;
  });
  const vector = (data) => ({ shape: [rows], data });
  return tensors({
    "attn.partials": { shape: [info.heads, rows], data: partials },
    "attn.sum": vector(sum),
    "attn.change": vector(own[change]),
    ...(bias && { "attn.bias": vector(bias) }),
  });
}

/** @returns {Float32Array} [heads, d]: the output of each head, [heads, width], times its columns of a matrix [d, heads · width] */
function partsOf(outputs, matrix, { heads, head_dim: width, d }) {
  const parts = new Float32Array(heads * d);
  for (let head = 0; head < heads; head++)
    for (let row = 0; row < d; row++) {
      let dot = 0;
      for (let at = head * width; at < (head + 1) * width; at++) dot += outputs[at] * matrix[row * heads * width + at];
      parts[head * d + row] = dot;
    }
  return parts;
}
