import assert from "node:assert/strict";
import { test } from "node:test";
import { divergence, likeliest } from "../../../../kvscope/static/shared/compare/next-token.js";
import { runOf } from "../../support/compared-runs.js";
import { assertEach, pluck } from "../../support/lists.js";

const WORDS = ["p", "q", "x"];
const sideOf = (likely, parts = {}) => ({ run: runOf(WORDS, { likely: [likely], ...parts }), step: 0 });
const near = (value, wanted) => assert.ok(Math.abs(value - wanted) < 1e-6, `${value}, not ${wanted}`);

test("both sides have the probability of each likely token; an unlisted token is below the last listed one", () => {
  const [a, b] = [sideOf({ x: 0.6, y: 0.3, z: 0.1 }), sideOf({ y: 0.7, x: 0.2 })];
  const rows = likeliest(a, b);
  assertEach(rows, ({ token }) => token.text, ["y", "x", "z"]);
  near(rows[0].a.p, 0.3);
  near(rows[0].b.p, 0.7);
  assert.equal(rows[2].b.p, null);
  near(rows[2].b.below, 0.2);
  assert.deepEqual(pluck(rows, "chosenA"), [false, true, false]);
});

test("exchanging the sides mirrors the rows and the divergences", () => {
  const [a, b] = [sideOf({ x: 0.6, y: 0.395 }), sideOf({ y: 0.7, x: 0.295 })];
  const mirrored = likeliest(b, a).map(({ token, a: other, b: own, chosenA, chosenB }) => ({
    token,
    a: own,
    b: other,
    chosenA: chosenB,
    chosenB: chosenA,
  }));
  assert.deepEqual(likeliest(a, b), mirrored);
  const [there, back] = [divergence(a, b), divergence(b, a)];
  near(there.ab, back.ba);
  near(there.ba, back.ab);
});

test("a chosen token is shown, however unlikely it is", () => {
  const many = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`t${i}`, 0.06]));
  const rows = likeliest(sideOf({ ...many, x: 0.001 }), sideOf({ ...many, x: 0.001 }), 5);
  assert.equal(rows.length, 5);
  assert.ok(rows.some(({ token }) => token.text === "x"));
});

test("the divergence of equal distributions is 0, and it is exact if all tokens are listed", () => {
  const same = sideOf({ x: 0.75, y: 0.25 });
  assert.deepEqual([divergence(same, same).ab, divergence(same, same).ba], [0, 0]);
  const other = sideOf({ x: 0.5, y: 0.5 });
  near(divergence(same, other).ab, 0.75 * Math.log(1.5) + 0.25 * Math.log(0.5));
});

test("with unlisted tokens the divergence is a lower bound, and below 90 % there is none", () => {
  const [a, b] = [sideOf({ x: 0.6, y: 0.39 }), sideOf({ x: 0.4, y: 0.595 })];
  const rest = [
    [0.008, 0.001],
    [0.002, 0.004],
  ];
  const truth = [[0.6, 0.4], [0.39, 0.595], ...rest].reduce((sum, [p, q]) => sum + p * Math.log(p / q), 0);
  assert.ok(divergence(a, b).ab <= truth);
  assert.equal(divergence(sideOf({ x: 0.98 }), sideOf({ x: 0.89 })).ab, null);
});

test("tokens of two models are matched by their text, without a divergence", () => {
  const other = sideOf({ y: 0.7, x: 0.2 }, { model: "other", ids: (text) => 500 + text.charCodeAt(0) });
  const rows = likeliest(sideOf({ x: 0.6, y: 0.3 }), other);
  near(rows[0].a.p, 0.3);
  near(rows[0].b.p, 0.7);
  assert.equal(divergence(sideOf({ x: 0.6, y: 0.3 }), other), null);
});
