/** Calculates the printed figures about sizes in memory, and what the mistake behind each gives. Pure. */

import { constant, derived, joined, stated, term } from "../sizes/arithmetic.js";
import { BITS, vectorBytes } from "../sizes/dtypes.js";
import { parameters } from "../sizes/parameters.js";
import { cacheBytesPerToken } from "../sizes/sizes.js";
import { msg } from "../words/msg.js";

/**
 * @typedef {import("../sizes/arithmetic.js").Result} Result
 *
 * @typedef {{right: Result, printed?: Result, beside?: {name: string, result: Result}[]}} Results `printed`: what the mistake
 *   gives; `beside`: further results
 *
 * @typedef {{first: Object<string, string>, of: (inputs: *) => Results}} Calculation `first`: the text of each
 *   input; `of`: gets the numbers, and the ids of number formats
 */

/**
 * @param {Object[]} models
 * @returns {Object<string, Calculation>} by the id of a figure
 */
export function sizeFigures(models) {
  const of = (id) => models.find((model) => model.id === id);
  const [small, large] = [of("llama-3-8b"), of("llama-3-70b")];
  const seven = of("llama-2-7b");
  return {
    "160-kb": cacheFigure(large, { tokens: 1 }, oneTensor),
    "640-mb": cacheFigure(large, { tokens: 4000 }, oneTensor),
    "32-gb": cacheFigure(large, { tokens: 4000, requests: 50 }, oneTensor),
    "1.34-gb": cacheFigure(large, { tokens: 8192 }, oneTensor),
    "536-mb": cacheFigure(small, { tokens: 8192 }, oneTensor),
    "4-gb": cacheFigure(small, { tokens: 8192 }, everyHead),
    "524-mb": cacheFigure(small, { tokens: 1000 }, everyHead),
    "21.5-gb": cacheFigure(of("qwen2.5-72b"), { tokens: 131_072 }, oneTensor),
    "14-gb": weightFigure(parameters(seven).total.value),
    "131072-b": cacheFigure(small, { tokens: 1 }),
    "524288-b": cacheFigure(seven, { tokens: 1 }),
    "512-b": headFigure(seven),
    "int8-half": formatFigure("fp32", "int8", constant(2)),
    "fp8-half": formatFigure("int8", "fp8", constant(2)),
    "int4-75": formatFigure("fp32", "int4", constant(4)),
  };
}

function cacheFigure({ layers, heads, kv_heads, head_dim }, { tokens, requests = 1 }, mistake) {
  const sizes = { layers, heads, kv_heads, head_dim, tokens, requests };
  return {
    first: { ...textsOf(sizes), format: "bf16" },
    of: (inputs) => ({ right: cacheBytes(inputs), ...(mistake && { printed: mistake(inputs) }) }),
  };
}

/** @returns {Result} B */
function cacheBytes({ format, tokens, requests, ...sizes }) {
  const shape = /** @type {*} */ ({ ...sizes, window: null, mla: null });
  return joined("×", "B", [
    derived(msg`bytes per token`, cacheBytesPerToken(shape, { dtype: format })),
    term(msg`tokens`, tokens),
    term(msg`requests`, requests),
  ]);
}

/** Counts only one of the two tensors K and V. */
function oneTensor(inputs) {
  return joined("÷", "B", [derived(msg`K and V`, cacheBytes(inputs)), constant(2)]);
}

/** Counts K and V for every query head. */
function everyHead(inputs) {
  return cacheBytes({ ...inputs, kv_heads: inputs.heads });
}

function headFigure({ head_dim }) {
  return {
    first: { head_dim: String(head_dim), format: "fp16" },
    of: ({ head_dim: headDim, format }) => ({
      right: joined("×", "B", [
        constant(2),
        derived(msg`bytes per vector`, vectorBytes(term(msg`head dim`, headDim), { dtype: format })),
      ]),
    }),
  };
}

const BILLION = 1e9;

/** The printed figure is that of a name: "7B" is not a number of parameters. */
function weightFigure(count) {
  const rounded = (all) =>
    stated(BILLION * Math.round(all / BILLION), "", msg`parameters, in whole billions`, [term(msg`parameters`, all)]);
  return {
    first: { parameters: String(count), format: "bf16" },
    of: ({ parameters: all, format }) => ({
      right: vectorBytes(term(msg`parameters`, all), { dtype: format }),
      printed: vectorBytes(derived(msg`parameters in the name`, rounded(all)), { dtype: format }),
    }),
  };
}

/** `divisor`: by how much the printed figure divides a size. */
function formatFigure(format, to, divisor) {
  return {
    first: { format, to },
    of: (inputs) => ({
      right: joined("÷", "%", [
        derived(
          msg`100 × bits in the new format`,
          joined("×", "", [constant(100), term(msg`bits in the new format`, BITS[inputs.to])]),
        ),
        term(msg`bits in the old format`, BITS[inputs.format]),
      ]),
      printed: joined("÷", "%", [constant(100), divisor]),
    }),
  };
}

const textsOf = (numbers) =>
  Object.fromEntries(Object.entries(numbers).map(([name, number]) => [name, String(number)]));
