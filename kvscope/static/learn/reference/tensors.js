/** Tensors of a real run, from a scalar to four axes. Pure. */

import { msg } from "../../shared/words/msg.js";

/**
 * @typedef {{rank: number, kind: string, name: string, axes: {name: string, size: number}[], at: (...index: number[]) => number,
 *   rows: ((batch: number) => string[])|null, exact: boolean}} Level `kind`: its name by its rank; `rows`: names along the axis before
 *   the last; `exact`: whether the values are the model's float32, not weights of a log, within 0.004
 */

const KINDS = [msg`Scalar`, msg`Vector`, msg`Matrix`, msg`3-D tensor`, msg`4-D tensor`];

/** The layer whose values are shown: in the middle of the model. */
export const layerOf = (model) => Math.floor(model.layers / 2);

/**
 * @param {Object[]} runs one run, or two with the same numbers of prompt tokens and steps
 * @param {{row: number[], keys: Float32Array[][]}|null} exact a token's embedding; K of each run and KV head; null without the model
 * @returns {Level[]} by rank; the fourth axis needs two runs
 */
export function levelsOf(runs, exact) {
  const [run] = runs;
  return [logit(run), ...(exact ? ofKeys(runs, exact) : ofAttention(runs))];
}

function logit(run) {
  const step = run.steps.at(-1);
  return {
    ...level(0, msg`the largest logit of the last step`, []),
    at: () => step.topLogits[0],
    rows: null,
    exact: true,
  };
}

const level = (rank, name, axes) => ({ rank, kind: KINDS[rank], name, axes, exact: true });
const axis = (name, size) => ({ name, size });

function ofKeys(runs, { row, keys }) {
  const [run] = runs;
  const { kv_heads: kvHeads, head_dim: width } = run.open.model;
  const positions = keys[0][0].length / width;
  const names = (batch = 0) => namesOf(runs[batch], positions);
  const layer = layerOf(run.open.model);
  const k = (batch, head, position, index) => keys[batch][head][position * width + index];
  const axes = [axis(msg`tokens`, positions), axis("d_head", width)];
  const levels = [
    {
      ...level(1, msg`the embedding of the first token, ${names()[0]}`, [axis("d", row.length)]),
      at: (i) => row[i],
      rows: null,
    },
    {
      ...level(2, msg`K of KV head 0 in layer ${layer}, a row per token`, axes),
      at: (t, i) => k(0, 0, t, i),
      rows: () => names(),
    },
    {
      ...level(3, msg`K of all KV heads of that layer`, [axis("h_kv", kvHeads), ...axes]),
      at: (h, t, i) => k(0, h, t, i),
      rows: () => names(),
    },
  ];
  if (runs.length < 2) return levels;
  const all = [axis("B", runs.length), axis("h_kv", kvHeads), ...axes];
  return [...levels, { ...level(4, msg`the same of two runs: the batch axis comes first`, all), at: k, rows: names }];
}

function ofAttention(runs) {
  const [run] = runs;
  const { positions, heads } = run;
  const names = (batch = 0) => namesOf(runs[batch], positions);
  const layer = layerOf(run.open.model);
  const weight = (batch, head, query, key) => runs[batch].weight(layer, head, query, key) ?? 0;
  const newest = positions - 1;
  const axes = [axis(msg`queries`, positions), axis(msg`keys`, positions)];
  const rounded = (rank, name, named) => ({
    ...level(rank, name, named),
    exact: false,
    rows: rank < 2 ? null : rank < 4 ? () => names() : names,
  });
  const levels = [
    {
      ...rounded(
        1,
        msg`where the newest token looks: its attention weights in head 0 of layer ${layer}`,
        axes.slice(1),
      ),
      at: (key) => weight(0, 0, newest, key),
    },
    {
      ...rounded(2, msg`the attention weights of that head, a row per token`, axes),
      at: (query, key) => weight(0, 0, query, key),
    },
    {
      ...rounded(3, msg`the attention weights of all heads of that layer`, [axis("h", heads), ...axes]),
      at: (...index) => weight(0, ...index),
    },
  ];
  if (runs.length < 2) return levels;
  const all = [axis("B", runs.length), axis("h", heads), ...axes];
  return [...levels, { ...rounded(4, msg`the same of two runs: the batch axis comes first`, all), at: weight }];
}

function namesOf({ tokens }, positions) {
  return tokens.slice(0, positions).map(({ text }) => text.trim() || text);
}

/** The most numbers shown along an axis; of rows, the newest. */
const SHOWN = { row: 5, column: 3, panel: 2 };

/**
 * Returns a tensor as panels: slices of its last two axes, each with the first numbers of its last rows.
 *
 * @param {Level} level
 * @returns {{index: number[], lines: {name: string, numbers: number[]}[], linesBefore: number, moreNumbers: number}[]} `index`: of the
 *   slice along the other axes
 */
export function panelsOf({ axes, at, rows }) {
  const sizes = axes.map(({ size }) => size);
  if (sizes.length === 0)
    return [{ index: [], lines: [{ name: "", numbers: [at()] }], linesBefore: 0, moreNumbers: 0 }];
  const [height, width] = sizes.length === 1 ? [1, sizes[0]] : sizes.slice(-2);
  const outer = sizes.slice(0, -2);
  const before = Math.max(0, height - SHOWN.column);
  return indicesOf(outer.map((size) => Math.min(size, SHOWN.panel))).map((index) => ({
    index,
    lines: Array.from({ length: height - before }, (_, line) => ({
      name: rows?.(index.length > 1 ? index[0] : 0)[before + line] ?? "",
      numbers: Array.from({ length: Math.min(width, SHOWN.row) }, (_, column) =>
        sizes.length === 1 ? at(column) : at(...index, before + line, column),
      ),
    })),
    linesBefore: before,
    moreNumbers: width - Math.min(width, SHOWN.row),
  }));
}

/** @returns {number[][]} all indices below these sizes, the last one fastest */
function indicesOf(sizes) {
  return sizes.reduce(
    (all, size) => all.flatMap((index) => Array.from({ length: size }, (_, at) => [...index, at])),
    [[]],
  );
}
