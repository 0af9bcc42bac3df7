/**
 * What a model consists of, in numbers, from the `model` object of an `open` frame; and the shapes one step sends through
 * it. Pure.
 */

import { weightElementBytes } from "../../../shared/facts/dtypes.js";
import { isInherited } from "../../../shared/facts/step-rows.js";
import { groupsOf } from "../../../shared/facts/weights.js";
import { matricesOf } from "../../../shared/log/model.js";

/**
 * Parameters of each part. The sizes of matrices follow from the shapes; norm gains and biases of the blocks are the rest of the
 * total of the loaded tensors.
 *
 * @param {Object} model of the `open` frame
 * @returns {{embedding?: number, positions?: number, attention?: number, mlp?: number, small?: number, block?: number,
 *   blocks?: number, norm?: number, head?: number, tied: boolean, total?: number,
 *   bytes?: {embedding: number, blocks: number, norm: number, head: number}|null}}
 *   `block`: one block, its `attention` and `mlp` matrices and what is `small`; `head` is 0 when `tied`: the LM head then
 *   is the embedding table again. `total` is the sum of embedding, positions, blocks, norm and head. `bytes`: size in
 *   memory, the embedding with the positions; matrices and the embedding may have a smaller format than the rest;
 *   null if they are in groups, whose sizes a log gives only in total, and of a model with experts. In a log that does not say
 *   what the model consists of, only `tied` and, if it is known, `total` are there.
 */
export function partsOf(model) {
  if (model.norm === undefined) return { tied: model.tied === true, total: model.parameters };
  const { layers, d, vocab, parameters, tied } = model;
  const { attention, mlp, positions } = matricesOf(model);
  const embedding = vocab * d;
  const norm = model.norm === "layer" ? 2 * d : d;
  const head = tied ? 0 : vocab * d;
  const blocks = parameters - embedding - positions - norm - head;
  const block = blocks / layers;
  const small = block - attention - mlp;
  const [each, own] = [model.element_bytes, weightElementBytes(model)];
  const plain = {
    embedding: embedding * own + positions * each,
    blocks: layers * ((attention + mlp) * own + small * each),
    norm: norm * each,
    head: head * own,
  };
  // A log does not say which layers have experts, nor the size of one layer's.
  const bytes = groupsOf(model) || model.experts ? null : plain;
  return { embedding, positions, attention, mlp, small, block, blocks, norm, head, tied, total: parameters, bytes };
}

/**
 * Returns what goes through the model in one step.
 *
 * @param {Object} run
 * @param {number} step
 * @returns {{rows: number, cached: number, first: number, passes: number, inherited: boolean}} `rows`: rows computed, from position `first`;
 *   `cached`: rows before them, only read; `passes`: forward passes that computed them;
 *   `inherited`: the run that this one branched from computed them, not this one
 */
export function flowOf(run, step) {
  const { firstQuery, rows: recorded, data } = run.steps[step];
  const rows = data.rows_computed;
  const first = firstQuery + recorded - rows;
  const cached = run.open.study?.cache === "forgotten" ? 0 : first;
  return { rows, cached, first, passes: data.ms?.chunks.length ?? 1, inherited: isInherited(run, step) };
}

/**
 * Returns the most likely tokens of a step under softmax of the raw logits, including the chosen one.
 *
 * @param {{data: Object, topIds: Int32Array, topLogits: Float32Array}} step
 * @param {number} count
 * @returns {{token: Object, prob: number, chosen: boolean}[]} best first
 */
export function bestGuesses({ data, topLogits }, count) {
  const best = data.top_tokens.slice(0, count).map((token, rank) => ({
    token,
    prob: Math.exp(topLogits[rank] - data.log_z),
    chosen: token.id === data.token.id,
  }));
  if (best.some(({ chosen }) => chosen)) return best;
  return [...best.slice(0, count - 1), { token: data.token, prob: data.token.raw_prob, chosen: true }];
}
