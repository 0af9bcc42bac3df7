/** The configuration of a model of the Llama kind from a GGUF file, as kvscope/model/checkpoint/gguf_file.py reads it. Pure. */

import { msg } from "../../shared/words/msg.js";
import { Refused } from "../refused.js";
import { damaged, unknown } from "./refusal.js";

const DEFAULT_THETA = 10000;

/**
 * @typedef {Object} Config with the names of an `open` frame's model (docs/frames.md), and
 * @property {boolean} is_paired whether rows of Q and K are in llama.cpp's order of pairs
 * @property {number} layers
 * @property {number} heads
 * @property {number} kv_heads
 * @property {number} head_dim
 * @property {number} d
 * @property {number} d_mlp
 * @property {number} vocab
 * @property {number} context
 * @property {boolean} qk_norm
 * @property {boolean} tied
 * @property {number} eps
 * @property {number} window 0: none
 * @property {number} theta the base of the rotary angles
 * @property {{factor: number, attention: number}} scaling `factor` divides all frequencies; `attention` multiplies cosine and sine
 *
 * @param {import("./header.js").Header} header
 * @param {Object} facts of kvscope/model/service/gguf_facts.py
 * @returns {Config}  @throws {Refused}
 */
export function configOf({ metadata, tensors }, facts) {
  const name = metadata["general.architecture"];
  const family = facts.architectures[name];
  if (!family) refuseFamily(name, facts);
  const own = Object.fromEntries(
    Object.entries(metadata)
      .filter(([key]) => key.startsWith(`${name}.`))
      .map(([key, value]) => [key.slice(name.length + 1), uniform(key, value)]),
  );
  refuseSettings(name, own, facts);

  const whole = (key, other = undefined) => positive(`${name}.${key}`, own[key] ?? other, Number.isSafeInteger);
  const real = (key, other = undefined) => positive(`${name}.${key}`, own[key] ?? other, Number.isFinite);
  const embed = tensors.get(`${facts.modules.embed}.weight`);
  if (embed?.shape.length !== 2) damaged(msg`It is incomplete: it has no token embedding`);
  if (metadata["split.count"] > 1)
    unknown(msg`It is one of several parts of a model, and this page opens one file. Join the parts with gguf-split`);
  const [heads, d] = [whole("attention.head_count"), whole("embedding_length")];
  const width = whole("attention.key_length", Math.floor(d / heads));
  for (const key of ["rope.dimension_count", "attention.value_length"])
    if (whole(key, width) !== width) unknown(msg`It sets ${key} to another number than the width of a head, ${width}`);
  const kvHeads = whole("attention.head_count_kv", heads);
  if (heads % kvHeads || width % 2)
    damaged(msg`It is corrupted: ${heads} heads of width ${width} cannot share ${kvHeads} K/V heads`);
  const layers = whole("block_count");
  const window = own["attention.sliding_window"] || 0;
  return {
    ...family,
    ...{ norm: "rms", gated: true, activation: "silu", positions: "rotary", post_norms: false, embedding_scale: 1 },
    ...{ layers, heads, kv_heads: kvHeads, head_dim: width, d },
    d_mlp: whole("feed_forward_length"),
    vocab: embed.shape[0],
    context: whole("context_length"),
    tied: !tensors.has(`${facts.modules.lm_head}.weight`),
    eps: real("attention.layer_norm_rms_epsilon"),
    window,
    windows: window ? new Array(layers).fill(window) : null,
    theta: real("rope.freq_base", DEFAULT_THETA),
    scaling: scalingOf(own, real),
  };
}

/** @returns {never} */
function refuseFamily(name, { architectures, others }) {
  const why = msg`It is of the family ${String(name)}. This page computes ${Object.keys(architectures).join(", ")}`;
  const more = others.includes(name)
    ? msg`Use another file, or a KVScope server, which computes ${name}`
    : msg`Use another file`;
  throw new Refused(422, `${why}. ${more}.`);
}

/** A setting that is not known may change what the model computes. */
function refuseSettings(name, own, { used, neutral }) {
  if (own.expert_count) unknown(msg`It is a mixture of experts, which this page does not compute`);
  for (const [key, value] of Object.entries(own))
    if (!used.includes(key) && !neutral[key]?.includes(value))
      unknown(msg`It sets ${name}.${key} to ${String(value)}, which may change what the model computes`);
}

/** Returns the common value of a setting that a file may list for each layer. */
function uniform(key, value) {
  if (!Array.isArray(value)) return value;
  if (value.some((each) => each !== value[0])) unknown(msg`It has another ${key} from layer to layer`);
  return value[0];
}

function positive(key, value, isNumber) {
  if (!isNumber(value) || value <= 0) damaged(msg`It is corrupted: its ${key} is ${String(value)}`);
  return value;
}

function scalingOf(own, real) {
  const kind = own["rope.scaling.type"] ?? "linear";
  const key = own["rope.scaling.factor"] ? "rope.scaling.factor" : "rope.scale_linear";
  const factor = own[key] ? real(key) : 1;
  if (kind !== "none" && kind !== "linear" && factor !== 1) unknown(msg`It scales its positions by ${kind}`);
  if (kind === "longrope") unknown(msg`It scales its positions by ${kind}`);
  const attention = real("rope.scaling.attn_factor", own["rope.scaling.yarn_attn_factor"] ?? 1);
  return { factor: kind === "linear" ? factor : 1, attention };
}
