/**
 * Plans a packed model from a GGUF file: the description that kvscope/model/native/packed.py makes, with the same tensors at the same
 * places, and what of the file each tensor is read from. Pure.
 */

import { msg } from "../../shared/words/msg.js";
import { matrixOf, panelsBytes, refuseType } from "./matrix.js";
import { PLAIN } from "./numbers.js";
import { pointsOf, valuesOf } from "./passes.js";
import { damaged, unknown } from "./refusal.js";

const NONE = { weight: null, bias: null };
const FLOAT_BYTES = 4;

/**
 * @typedef {import("./header.js").TensorInfo} TensorInfo
 * @typedef {import("./matrix.js").Panels} Panels
 * @typedef {{at: {at: number}, bytes: number, tensors: TensorInfo[]}} Vector of float32, from tensors that follow one another
 *
 * @typedef {Object} Plan
 * @property {Object} packed as `Packed.description`, without `rotations`
 * @property {Panels[]} panels
 * @property {Vector[]} vectors
 * @property {number} parameters
 * @property {Object<string, number>} held bytes in memory by format
 *
 * @param {import("./header.js").Header} header
 * @param {import("./config.js").Config} config
 * @param {Object} facts of kvscope/model/service/gguf_facts.py
 * @param {Object} site the description of the site's own packed model: what it says of C holds for every model
 * @returns {Plan}  @throws {Refused}
 */
export function planOf(header, config, facts, { structures, edits, shown, no_expert }) {
  const parts = createParts(header, facts);
  const { model, inBlocks } = modelOf(config, parts);
  const other = [...header.tensors.keys()].find((name) => !parts.used.has(name));
  if (other) unknown(msg`It has the tensor ${other}, which models of its family do not have here`);

  const { panels, vectors, sizes } = parts;
  const read = [...inBlocks, model.head].flatMap((linear) => linear.parts);
  const vectorBytes = vectors.reduce((sum, { bytes }) => sum + bytes, 0);
  const numbers = panels.reduce((sum, { weight }) => sum + weight.outputs * weight.groups * weight.size, 0);
  const held = bytesByFormat(panels);
  const { layers, d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: width, vocab } = config;
  return {
    packed: {
      size: arranged("model", model, { structures, sizes, alignment: facts.packed_alignment }),
      ...{ structures, model, edits, shown, no_expert },
      values: valuesOf(config, Math.max(...read.map(({ groups }) => groups))),
      points: pointsOf(config),
      cost: {
        products: layers * d * (2 * heads * width + 2 * kvHeads * width + 3 * dMlp),
        weights: bytesByFormat(read.map((weight) => panelsOf(panels, weight))),
        expert: {},
        embedding_row: Math.floor(panelsBytes(panelsOf(panels, model.table)) / vocab),
      },
    },
    ...{ panels, vectors },
    parameters: numbers + vectorBytes / FLOAT_BYTES,
    held: { ...held, float32: (held.float32 ?? 0) + vectorBytes },
  };
}

/** Makes structures of the file's tensors, and collects what they are read from. */
function createParts({ tensors }, facts) {
  const panels = /** @type {Panels[]} */ ([]);
  const vectors = /** @type {Vector[]} */ ([]);
  /** Bytes by place. @type {Map<{at: number}, number>} */
  const sizes = new Map();
  /** Names of the tensors that a model has. */
  const used = new Set([facts.divisors]);

  const place = (bytes) => {
    const at = { at: 0 };
    sizes.set(at, bytes);
    return at;
  };

  const nameOf = (layer, module, kind) => `${layer === null ? "" : `blk.${layer}.`}${facts.modules[module]}.${kind}`;

  const tensor = (name, shape) => {
    used.add(name);
    const info = tensors.get(name) ?? damaged(msg`It is incomplete: the tensor ${name} is missing`);
    if (info.shape.join() !== shape.join())
      damaged(msg`It is corrupted: the tensor ${name} has the shape ${info.shape.join(" × ")}`);
    return info;
  };

  const vector = (own) => {
    for (const { name, kind } of own) if (!PLAIN[kind]) refuseType(name, kind);
    const bytes = FLOAT_BYTES * own.reduce((sum, { shape: [length] }) => sum + length, 0);
    const at = place(bytes);
    vectors.push({ at, bytes, tensors: own });
    return at;
  };

  return {
    ...{ panels, vectors, sizes, used },

    /** @returns {{weight: Object, bias: null}} the structure `norm` */
    norm: (layer, module, length) => ({
      weight: vector([tensor(nameOf(layer, module, "weight"), [length])]),
      bias: null,
    }),

    /**
     * Returns the structure `linear` of matrices whose rows follow one another.
     *
     * @param {[string, number, number?][]} modules each with its rows and, if they are in llama.cpp's order of pairs, the rows of a head
     */
    linear(layer, modules, inputs) {
      const all = modules.map(([module, rows, unit = 1]) => ({
        info: tensor(nameOf(layer, module, "weight"), [rows, inputs]),
        unit,
      }));
      const own = matrixOf(all, inputs, facts, place);
      panels.push(...own);
      const biases = tensors.has(nameOf(layer, modules[0][0], "bias"))
        ? modules.map(([module, rows]) => tensor(nameOf(layer, module, "bias"), [rows]))
        : [];
      return {
        parts: own.map(({ weight }) => weight),
        count: own.length,
        outputs: modules.reduce((sum, [, rows]) => sum + rows, 0),
        bias: biases.length ? vector(biases) : null,
      };
    },
  };
}

/** Returns the structure `model`, and the matrices in its layers. */
function modelOf(config, { norm, linear }) {
  const { d, d_mlp: dMlp, heads, kv_heads: kvHeads, head_dim: width, vocab, qk_norm: hasNorm } = config;
  const [ofQ, ofKv, unit] = [heads * width, kvHeads * width, config.is_paired ? width : 1];
  const qkv = [
    ["attn.q", ofQ, unit],
    ["attn.k", ofKv, unit],
    ["attn.v", ofKv],
  ];
  const gateUp = [
    ["mlp.gate", dMlp],
    ["mlp.up", dMlp],
  ];
  const layers = Array.from({ length: config.layers }, (_, layer) => ({
    qkv: linear(layer, qkv, d),
    out: linear(layer, [["attn.out", d]], ofQ),
    gate_up: linear(layer, gateUp, d),
    down: linear(layer, [["mlp.down", d]], dMlp),
    attn_norm: norm(layer, "attn.norm", d),
    q_norm: hasNorm ? norm(layer, "attn.q_norm", width) : NONE,
    k_norm: hasNorm ? norm(layer, "attn.k_norm", width) : NONE,
    mlp_norm: norm(layer, "mlp.norm", d),
    ...{ attn_post: NONE, mlp_post: NONE, experts: null, window: config.window },
  }));
  const table = linear(null, [["embed", vocab]], d);
  const model = {
    ...{ layers, table: table.parts[0], positions: null, norm: norm(null, "norm", d) },
    head: config.tied ? table : linear(null, [["lm_head", vocab]], d),
    ...{ count: config.layers, heads, kv_heads: kvHeads, head_dim: width, d, d_mlp: dMlp, vocab },
    ...{ embedding_scale: 1, score_scale: Math.fround(1 / Math.sqrt(width)), eps: config.eps, gated: 1, gelu: 0 },
  };
  return { model, inBlocks: layers.flatMap((layer) => [layer.qkv, layer.out, layer.gate_up, layer.down]) };
}

/** Gives each tensor of a structure its place, in the order of the fields.  @returns {number} the bytes of all */
function arranged(name, values, { structures, sizes, alignment }) {
  const placed = new Set();
  let end = 0;
  const visit = (structure, all) => {
    for (const [field, type] of structures[structure]) {
      const value = all[field];
      if (value === null || value === undefined) continue;
      if (type.structure) visit(type.structure, value);
      else if (type.list) for (const each of value) visit(type.list, each);
      else if (type === "pointer" && !placed.has(value)) {
        placed.add(value);
        value.at = end;
        end += Math.ceil(sizes.get(value) / alignment) * alignment;
      }
    }
  };
  visit(name, values);
  return end;
}

const panelsOf = (panels, weight) => panels.find((each) => each.weight === weight);

function bytesByFormat(panels) {
  const bytes = {};
  for (const each of panels) bytes[each.format] = (bytes[each.format] ?? 0) + panelsBytes(each);
  return bytes;
}
