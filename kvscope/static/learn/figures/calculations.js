/** Calculates printed figures, and what the mistake behind each gives. Pure. */

import { sizeFigures } from "../../shared/figures/size-figures.js";
import { constant, derived, joined, stated, term } from "../../shared/sizes/arithmetic.js";
import { msg } from "../../shared/words/msg.js";
import { loopOf } from "../loop/rows.js";

/** Of worked example B, before its decode step: a score of head 1, the two scores of head 2, and two numbers of V. */
const EXAMPLE = { head_dim: "2", score: "1.7456", one: "2.1082", other: "2.0183", v_one: "1.28", v_other: "1.15" };

/**
 * @typedef {import("../../shared/figures/size-figures.js").Calculation} Calculation
 *
 * @param {Object[]} models
 * @returns {Object<string, Calculation>} by the id of a figure
 */
export function calculationsOf(models) {
  return { ...sizeFigures(models), ...loopFigures(), ...exampleFigures(), "every-other": pairs() };
}

/** @returns {Object<string, Calculation>} those of the generation loop, for N prompt tokens and K new ones */
export function loopFigures() {
  const wide = { n: "1000", k: "1000" };
  const even = { n: "512", k: "512" };
  return {
    786000: {
      first: even,
      of: ({ n, k }) => ({ right: without(n, k), printed: twice(without(n, k)), beside: besides(n, k) }),
    },
    "500-times": {
      first: even,
      of: ({ n, k }) => ({
        right: ratio(n, k),
        printed: joined("÷", "×", [term(msg`printed without a cache`, 786_000), term(msg`printed with it`, 1500)]),
        beside: [{ name: msg`K and V counted apart, both times`, result: ratioApart(n, k) }],
      }),
    },
    square: { first: wide, of: ({ n, k }) => ({ right: without(n, k), printed: square(n, k) }) },
    million: {
      first: wide,
      of: ({ n, k }) => ({ right: ratio(n, k), printed: everyPrompt(n, k), beside: besides(n, k) }),
    },
    "three-of-six": { first: { tokens: "3" }, of: ({ tokens }) => projections(tokens) },
  };
}

const tokensOf = (n, k) => [term("N", n), term("K", k)];
const without = (n, k) => stated(loopOf(n, k).without, "rows", "N·K + K(K − 1) ÷ 2", tokensOf(n, k));
const cached = (n, k) => stated(loopOf(n, k).with, "rows", "N + K − 1", tokensOf(n, k));
const twice = (result) => joined("×", "rows", [constant(2), derived(msg`rows without a cache`, result)]);
const square = (n, k) => stated((n + k) ** 2 / 2, "rows", "(N + K)² ÷ 2", tokensOf(n, k));
const everyPrompt = (n, k) => joined("×", "rows", tokensOf(n, k));
const besides = (n, k) => [{ name: msg`with a cache`, result: cached(n, k) }];

function ratio(n, k) {
  return joined("÷", "×", [
    derived(msg`rows without a cache`, without(n, k)),
    derived(msg`rows with a cache`, cached(n, k)),
  ]);
}

function ratioApart(n, k) {
  const withCache = joined("×", "rows", [constant(2), derived(msg`rows with a cache`, cached(n, k))]);
  return joined("÷", "×", [derived(msg`without a cache`, twice(without(n, k))), derived(msg`with a cache`, withCache)]);
}

/** q, k and v of one token, or of all tokens. */
function projections(tokens) {
  return {
    right: joined("×", "projections", [constant(3), term(msg`tokens`, tokens)]),
    beside: [{ name: msg`with a cache`, result: joined("×", "projections", [constant(3), term(msg`new token`, 1)]) }],
  };
}

/** @returns {Object<string, Calculation>} those of worked example B */
function exampleFigures() {
  const { score, one, other, v_one, v_other, head_dim } = EXAMPLE;
  return {
    "six-numbers": {
      first: { tokens: "2", head_dim },
      of: ({ tokens, head_dim: width }) => ({
        right: joined("×", "numbers", [constant(2), term(msg`tokens`, tokens), term(msg`head dim`, width)]),
      }),
    },
    0.503: {
      first: { one, other, head_dim },
      of: (inputs) => {
        const weights = weightsOf(inputs);
        return { right: weights[0], beside: [{ name: msg`the other weight`, result: weights[1] }] };
      },
    },
    1.215: { first: { one, other, v_one, v_other, head_dim }, of: (inputs) => ({ right: mixed(inputs) }) },
    1.235: {
      first: { score, head_dim },
      of: ({ score: of, head_dim: width }) => ({ right: scaled(msg`score`, of, width) }),
    },
  };
}

function scaled(name, score, width) {
  const root = stated(Math.sqrt(width), "", `√${msg`head dim`}`, [term(msg`head dim`, width)]);
  return joined("÷", "", [term(name, score), derived(`√${msg`head dim`}`, root)]);
}

/**
 * Softmax over two scaled scores.
 *
 * @param {*} inputs
 */
function weightsOf({ one, other, head_dim: width }) {
  const exponentials = [
    [msg`score`, one],
    [msg`other score`, other],
  ].map(([name, score]) => {
    const of = scaled(name, score, width);
    return derived(
      `exp(${name} ÷ √d)`,
      stated(Math.exp(of.value), "", `exp(${msg`scaled`})`, [derived(msg`scaled`, of)]),
    );
  });
  const sum = derived(msg`sum`, joined("+", "", exponentials));
  return exponentials.map((each) => joined("÷", "", [each, sum]));
}

/** @param {*} inputs */
function mixed({ v_one: one, v_other: other, ...scores }) {
  const parts = weightsOf(scores).map((weight, at) =>
    joined("×", "", [derived(msg`weight`, weight), term(msg`value`, [one, other][at])]),
  );
  return joined("+", "", [derived(msg`its part`, parts[0]), derived(msg`the other part`, parts[1])]);
}

/** Pairs of a query and a key that it may read: itself and earlier ones. */
function pairs() {
  return {
    first: { n: "8" },
    of: ({ n }) => ({
      right: stated((n * (n + 1)) / 2, "pairs", "N(N + 1) ÷ 2", [term("N", n)]),
      printed: joined("×", "pairs", [term("N", n), term("N", n)]),
    }),
  };
}
