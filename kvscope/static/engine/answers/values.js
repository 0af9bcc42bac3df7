/** The exact values of a step as `values` frames (docs/frames.md), as kvscope/model/activations/step_values.py and `values_frames` make them. */

import { msg } from "../../shared/words/msg.js";
import { encodeFrame } from "../log/encode.js";
import { halvesOf } from "../log/half.js";
import { Refused } from "../refused.js";
import { oneOf } from "./bounds.js";
import { byHead, pointsOfBlock, QKV } from "./exact.js";
import { lensOf } from "./predictions.js";
import { observe } from "./rows.js";
import { textBefore } from "./text.js";

/**
 * `values`, of one step.
 *
 * @param {import("./rows.js").Engine} engine
 * @param {import("../log/outline.js").Outline} log
 * @param {{run: string, step: number, level: "qkv"|"block"}} parameters `run`: the id in the frames
 * @returns {{value: Uint8Array[]}} a frame for each layer
 * @throws {Refused}
 */
export function values(engine, log, { run, step, level }) {
  const { info, model } = engine;
  oneOf("level", level, ["qkv", "block"]);
  if (level === "block" && info.experts) throw new Refused(422, EXPERTS, { field: "level" });
  const text = textBefore(engine, log, step);
  const first = log.steps[step].firstQuery;
  const count = text.ids.length - first;
  const points = level === "block" ? pointsOfBlock(info) : [];
  const [layers, ends] = [[], []];
  observe(engine, text, {
    first,
    onLayer(layer, value) {
      ends.push(value("resid_out").slice(-info.d));
      const qkv = Object.fromEntries(Object.values(QKV).map((point) => [point, value(point)]));
      const rows = points.map((point) => [point, stored(value(point), count)]);
      const rope = level === "block" ? ropeOf(model, layer) : {};
      const tensors = { ...wide(byHead(info, qkv, count)), ...Object.fromEntries(rows), ...rope };
      layers.push(tensors);
    },
  });
  const place = { step, first_query: first, level, ...needed(info) };
  const lens = lensOf(engine, ends, log.ids[text.ids.length]);
  const frames = layers.map((tensors, layer) => {
    const window = info.windows?.[layer] ?? null;
    const data = { ...place, layer, window, ...(layer === layers.length - 1 && { lens }) };
    return encodeFrame({ run, seq: step * layers.length + layer, kind: "values", data, tensors });
  });
  return { value: frames };
}

const EXPERTS = msg`The MLPs of this model have experts, whose inner values a session cannot store; choose qkv.`;

/** Returns rows of numbers as they are stored: in half precision, if it has numbers as large. */
function stored(numbers, rows) {
  const shape = [rows, numbers.length / rows];
  const halves = halvesOf(numbers);
  return halves ? { dtype: "F16", shape, data: halves } : { dtype: "F32", shape, data: numbers };
}

const wide = (tensors) =>
  Object.fromEntries(Object.entries(tensors).map(([name, tensor]) => [name, { dtype: "F32", ...tensor }]));

/** Returns the angle by which each pair of q and k is rotated per position, if the layer rotates them. */
function ropeOf({ rotations }, layer) {
  if (!rotations[layer]) return {};
  const data = Float32Array.from(rotations[layer].frequencies);
  return { rope: { dtype: "F32", shape: [data.length], data } };
}

/** Returns the model's `score_width` and `activation`, each only if it differs from most models'. */
function needed({ score_width: scoreWidth, head_dim: width, activation, gated }) {
  return {
    ...(scoreWidth !== width && { score_width: scoreWidth }),
    ...(activation !== (gated ? "silu" : "gelu_tanh") && { activation }),
  };
}
