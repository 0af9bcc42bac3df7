/**
 * How a model is divided among GPUs, as vLLM and SGLang do it, and what part of it one GPU stores and computes. Pure.
 *
 * Tensor parallelism (arXiv:1909.08053) divides heads, MLPs and vocabulary among the `tp` GPUs of a group. A KV head is not
 * divided: with more GPUs than KV heads, several store the same one. The latent vectors of MLA belong to all heads, so
 * every GPU of a group stores them; norms, routers and the projections to the latent vectors are on every GPU too.
 * With several groups (data-parallel attention), each has its own copy of all that, and its own requests.
 * Experts are divided among all GPUs: each expert's matrices, or whole experts (expert parallelism, arXiv:2006.16668).
 *
 * @typedef {import("./parameters.js").Model} Model
 *
 * @typedef {Object} Layout
 * @property {number} gpus
 * @property {number} [tp] GPUs of a group, which divides `gpus`; all of them if left out
 * @property {"divided"|"whole"} [experts]
 *
 * @typedef {Object} Inputs what a calculation is for
 * @property {number} context
 * @property {number} requests
 * @property {number} prefix
 * @property {import("./dtypes.js").Stored} cache
 * @property {import("./dtypes.js").Stored} weights
 * @property {import("./peaks.js").Gpu & {memory: number, bandwidth: number}} gpu
 * @property {number} gpus
 * @property {number} [tp]
 * @property {"divided"|"whole"} [experts]
 */

import { gpuCount } from "../words/counts.js";
import { msg } from "../words/msg.js";

export const EXPERTS = ["divided", "whole"];

/** Divides a number among GPUs; returns the largest part, that of the fullest GPU. */
const part = (number, parts) => Math.ceil(number / parts);

/** @returns {number} */
const groupSize = ({ gpus, tp = gpus }) => tp;

/** @returns {number} groups of GPUs that each have their own requests */
export const groupsOf = (layout) => layout.gpus / groupSize(layout);

/** @returns {number} requests in the fullest group */
export const requestsOf = (layout, requests) => part(requests, groupsOf(layout));

/** @returns {number[]} the group sizes to choose from, the largest first */
export function groupSizes(gpus) {
  const small = Array.from({ length: Math.floor(Math.sqrt(gpus)) }, (_, at) => at + 1).filter((n) => gpus % n === 0);
  return [...new Set([...small, ...small.map((n) => gpus / n)])].sort((a, b) => b - a);
}

/**
 * @param {Model} model
 * @param {Layout} layout
 * @returns {Model} the part of it in the memory of the fullest GPU
 */
export function heldBy(model, layout) {
  const { gpus, experts = "divided" } = layout;
  if (gpus === 1) return model;
  const { moe } = model;
  const held = experts === "whole" ? { held: part(moe?.experts, gpus) } : { d_held: part(moe?.d_expert, gpus) };
  return {
    ...dividedIn(model, groupSize(layout)),
    moe: moe && { ...moe, ...held, ...sharedOf(moe, groupSize(layout)) },
  };
}

/**
 * @param {Model} model
 * @param {Layout} layout
 * @returns {Model} the part of the operations for one token of its group that a GPU computes. All groups send tokens to the
 *   experts at once, so one group's tokens count for its own GPUs alone
 */
export function workOf(model, layout) {
  if (layout.gpus === 1) return model;
  const [size, { moe }] = [groupSize(layout), model];
  const divided = moe && { ...moe, d_expert: part(moe.d_expert, size), ...sharedOf(moe, size) };
  return { ...dividedIn(model, size), moe: divided };
}

/** @param {NonNullable<Model["moe"]>} moe */
const sharedOf = ({ d_shared, d_expert }, size) => ({ d_shared: part(d_shared ?? d_expert, size) });

function dividedIn(model, size) {
  const { heads, kv_heads: kv, d_mlp: inner, vocab, linear, altup } = model;
  return {
    ...model,
    ...{ heads: part(heads, size), kv_heads: part(kv, size), d_mlp: part(inner, size), vocab: part(vocab, size) },
    ...(linear && {
      linear: { ...linear, key_heads: part(linear.key_heads, size), value_heads: part(linear.value_heads, size) },
    }),
    ...(altup && { altup: { ...altup, vocab: part(altup.vocab, size) } }),
  };
}

/**
 * Returns the fewest GPUs with which something fits: more groups of the same size or, if all GPUs are one group, a larger
 * group, whose size must divide the heads.
 *
 * @param {Model} model
 * @param {Layout} layout
 * @param {(layout: Layout) => boolean} fits must stay true with more GPUs
 * @param {number} most GPUs
 * @returns {number|null} null if `most` GPUs are too few
 */
export function fewestGpus(model, layout, fits, most) {
  const size = groupSize(layout);
  if (size === layout.gpus) {
    const sizes = groupSizes(model.heads).reverse();
    return sizes.find((gpus) => gpus <= most && fits({ ...layout, gpus, tp: gpus })) ?? null;
  }
  let [low, high] = [1, Math.floor(most / size) + 1];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if (fits({ ...layout, gpus: middle * size, tp: size })) high = middle;
    else low = middle + 1;
  }
  return low * size > most ? null : low * size;
}

/** @returns {string[]} what this layout stores several times or cannot divide evenly, in sentences */
export function layoutNotes(model, layout) {
  const size = groupSize(layout);
  const { heads, kv_heads: kv, mla } = model;
  if (size === 1)
    return layout.gpus === 1
      ? []
      : [msg`Each GPU has its own copy of all weights but the experts, and the cache of its own requests.`];
  return [
    ...(mla
      ? [
          msg`Each of the ${gpuCount(size)} of a group stores the latent vectors of all its requests: they belong to all heads.`,
        ]
      : []),
    ...(!mla && size > kv
      ? [
          msg`The model has only ${kv} KV heads for a group of ${gpuCount(size)}, so each is stored ${part(size, kv)} times.`,
        ]
      : []),
    ...(heads % size
      ? [
          msg`${heads} heads do not divide evenly into ${size} parts: the fullest GPU is counted. vLLM refuses such a number.`,
        ]
      : []),
  ];
}
