/** The values of each panel as a table of plain numbers. Pure: reads the run, or tensors fetched for it. */

import { tokenText } from "../../shared/facts/format.js";
import { formatOf } from "../../shared/facts/weights.js";
import { distribution } from "../next-token/sampling.js";

/** Returns the lengths of every row on the map at a step: one line per layer and position. */
export function mapTable(run, step) {
  const kvHeads = range(run.kvHeads);
  const positions = run.lastQueryOfStep(step) + 1;
  const header = [
    ...["layer", "position", "token", "residual_length"],
    ...kvHeads.map((kvHead) => `k_length_${kvHead}`),
    ...kvHeads.map((kvHead) => `v_length_${kvHead}`),
  ];
  const rows = [];
  for (let layer = 0; layer < run.layers; layer++) {
    for (let position = 0; position < positions; position++) {
      rows.push([
        ...[layer, position, tokenText(run.tokens[position]), run.residualNorm(layer, position)],
        ...kvHeads.map((kvHead) => run.kNorm(layer, kvHead, position)),
        ...kvHeads.map((kvHead) => run.vNorm(layer, kvHead, position)),
      ]);
    }
  }
  return { header, rows };
}

/** Returns one head's whole matrix at a step: one line per query, one column per key; masked cells are empty. */
export function matrixTable(run, step, { layer, head }) {
  const positions = range(run.lastQueryOfStep(step) + 1);
  return {
    header: ["query", "token", ...positions.map((key) => `${key} ${tokenText(run.tokens[key])}`)],
    rows: positions.map((query) => [
      ...[query, tokenText(run.tokens[query])],
      ...positions.map((key) => run.weight(layer, head, query, key)),
    ]),
  };
}

/** Returns the listed candidates of a step under some settings. */
export function candidatesTable(run, step, settings) {
  const { data, topIds, topLogits, tailCounts } = run.steps[step];
  const { scaled, final, cut } = distribution({ topLogits, tailCounts, tail: data.tail }, settings);
  return {
    header: [
      "rank",
      "id",
      "token",
      "logit",
      "probability_after_temperature",
      "probability_after_filters",
      "cut_by",
      "chosen",
    ],
    rows: Array.from(topIds, (id, rank) => [
      ...[rank, id, data.top_tokens[rank] ? tokenText(data.top_tokens[rank]) : null, topLogits[rank]],
      ...[scaled[rank], final[rank], cut[rank], id === data.token.id ? 1 : 0],
    ]),
  };
}

/** Returns the bytes in the cache, step by step. */
export function cacheTable(run) {
  return {
    header: ["step", "token_fed", "positions", "bytes_written", "bytes_used", "bytes_reserved", "blocks"],
    rows: run.steps.map(({ data: { kv } }, step) => [
      ...[
        step,
        fedIn(run, step),
        kv.positions,
        kv.bytes_written,
        kv.bytes_used,
        kv.bytes_reserved ?? null,
        kv.blocks ?? null,
      ],
    ]),
  };
}

/** Returns measured milliseconds and computed work, step by step. */
export function timeTable(run) {
  return {
    header: [
      "step",
      "phase",
      "token_fed",
      "total_ms",
      "forward_ms",
      "capture_ms",
      "sample_ms",
      "runs_in_batch",
      "flops",
      "bytes_read",
      "weights_read_as",
    ],
    rows: run.steps.map(({ data }, step) => [
      ...[step, data.phase, fedIn(run, step)],
      ...["total", "forward", "capture", "sample"].map((part) => data.ms?.[part] ?? null),
      ...[
        data.batch,
        data.flops ?? null,
        data.bytes_read ?? null,
        data.weights_read ? formatOf(data.weights_read) : null,
      ],
    ]),
  };
}

/** Returns every number of some tensors, one line each. */
export function tensorsTable(tensors) {
  const rows = [];
  for (const [name, { shape, data }] of Object.entries(tensors)) {
    data.forEach((value, at) => rows.push([name, indexOf(at, shape).join(" "), value]));
  }
  return { header: ["tensor", "index", "value"], rows };
}

/** Returns one dot product, one line per dimension. */
export function pairTable({ q, k }, row, key) {
  const size = q.shape[1];
  return {
    header: ["dimension", "q", "k", "product"],
    rows: range(size).map((i) => {
      const [a, b] = [q.data[row * size + i], k.data[key * size + i]];
      return [i, a, b, a * b];
    }),
  };
}

/** Returns the most probable tokens after each layer, by the logit lens. */
export function lensTable({ layers }) {
  return {
    header: ["layer", "rank", "token", "probability"],
    rows: layers.flatMap(({ layer, top }) => top.map((token, rank) => [layer, rank, tokenText(token), token.prob])),
  };
}

/** @returns {string|null} the token that a step computes; null for prefill, which computes the whole prompt */
function fedIn(run, step) {
  return step === 0 ? null : tokenText(run.tokens[run.steps[step].firstQuery]);
}

function indexOf(at, shape) {
  const index = [];
  for (let axis = shape.length - 1, left = at; axis >= 0; axis--) {
    index.unshift(left % shape[axis]);
    left = Math.floor(left / shape[axis]);
  }
  return index;
}

function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}
