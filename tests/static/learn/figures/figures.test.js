import assert from "node:assert/strict";
import { test } from "node:test";
import { calculationsOf } from "../../../../kvscope/static/learn/figures/calculations.js";
import { readInputs } from "../../../../kvscope/static/learn/figures/fields.js";
import { rightOf } from "../../../../kvscope/static/shared/figures/figure-lines.js";
import { FIGURES, figureAddress } from "../../../../kvscope/static/shared/figures/figures.js";
import { MODELS } from "../../memory/known.js";
import { assertOpens } from "../../memory/opens.js";

const calculations = calculationsOf(MODELS);
const resultsOf = (id, changed = {}) =>
  calculations[id].of(readInputs({ ...calculations[id].first, ...changed }).inputs);
const figureOf = (id) => FIGURES.find((figure) => figure.id === id);
/** By figure: what its mistake gives, and the right one; null: no mistake is known. */
const VALUES = {
  "160-kb": [163_840, 327_680],
  "640-mb": [655_360_000, 1_310_720_000],
  "32-gb": [32_768_000_000, 65_536_000_000],
  "1.34-gb": [1_342_177_280, 2_684_354_560],
  "536-mb": [536_870_912, 1_073_741_824],
  "4-gb": [4_294_967_296, 1_073_741_824],
  "524-mb": [524_288_000, 131_072_000],
  "21.5-gb": [21_474_836_480, 42_949_672_960],
  "14-gb": [14_000_000_000, 13_476_831_232],
  "131072-b": [null, 131_072],
  "524288-b": [null, 524_288],
  "512-b": [null, 512],
  "int8-half": [50, 25],
  "fp8-half": [50, 100],
  "int4-75": [25, 12.5],
  786000: [785_920, 392_960],
  "500-times": [524, 392_960 / 1023],
  square: [2_000_000, 1_499_500],
  million: [1_000_000, 1_499_500 / 1999],
  "three-of-six": [null, 9],
  "six-numbers": [null, 8],
  0.503: [null, 0.5159],
  1.215: [null, 1.2171],
  1.235: [null, 1.2343],
  "every-other": [64, 36],
};

test("each calculation gives the right figure, and its mistake the printed one", () => {
  assert.deepEqual(Object.keys(calculations).sort(), Object.keys(VALUES).sort());
  for (const [id, [printed, right]] of Object.entries(VALUES)) {
    const results = resultsOf(id);
    assert.ok(Math.abs(results.right.value - right) < 1e-4, `${id}: ${results.right.value}`);
    assert.equal(results.printed?.value ?? null, printed, id);
  }
});

test("every number of a calculation opens to its arithmetic", () => {
  for (const id of Object.keys(VALUES)) {
    const { right, printed, beside = [] } = resultsOf(id);
    for (const result of [right, printed, ...beside.map((each) => each.result)]) if (result) assertOpens(result);
  }
});

test("each figure that can be calculated is, and its text names the right one", () => {
  const without = FIGURES.filter(({ id }) => !calculations[id]).map(({ id }) => id);
  assert.deepEqual(without, ["60-80", "120-ms", "scaled-and-shifted"]);
  for (const { id, kind, group, text, also } of FIGURES) {
    if (kind !== "wrong" || !["memory", "loop"].includes(group) || id === "three-of-six") continue;
    const right = rightOf(calculations[id])
      .normalize("NFKC")
      .replace(/( rows|×)$/, "");
    assert.ok(
      [text, ...also].some((words) => words.includes(right)),
      `${id}: ${right}`,
    );
  }
});

test("every input can be changed, and what cannot be is named", () => {
  assert.equal(resultsOf("640-mb", { kv_heads: "64", heads: "64" }).right.value, 8 * 1_310_720_000);
  assert.equal(resultsOf("640-mb", { format: "int8" }).right.value, 655_360_000);
  assert.match(readInputs({ heads: "8", kv_heads: "3" }).problems.kv_heads, /8 query heads .* 3 KV heads/);
  assert.match(readInputs({ tokens: "" }).problems.tokens, /whole number/);
  assert.match(readInputs({ format: "fp12" }).problems.format, /fp12/);
});

test("all inputs of the figures are readable, and an address opens a figure with them", () => {
  for (const [id, { first }] of Object.entries(calculations)) assert.deepEqual(readInputs(first).problems, {}, id);
  assert.ok(figureOf("square"));
  assert.equal(figureAddress("square", { n: "11" }), "/learn/figures?figure=square&n=11");
});
