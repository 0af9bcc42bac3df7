import assert from "node:assert/strict";
import { test } from "node:test";
import { DRAFT_LAYERS, SPECULATION } from "../../../kvscope/static/serving/speculation.js";
import { pluck } from "../support/lists.js";

const drafts = ({ values }, layers) => values(layers).map(({ value }) => value);
/** A value per figure: each row for answers that repeat the prompt and for those that are new. */
const side = (name, { right, weights }, rows) => ({
  name,
  values: Array.from({ length: rows }, (_, row) => ({ 0: right, [rows === 6 ? 3 : 1]: weights })[row] ?? [1, 1]).flat(),
});

test("no draft, prompt lookup and the first layers are compared, and layers of any model", () => {
  assert.deepEqual(drafts(SPECULATION, 30), [null, { tokens: 4, layers: 0 }, { tokens: 1, layers: 25 }]);
  assert.deepEqual(pluck(drafts(DRAFT_LAYERS, 30), "layers"), [5, 10, 15, 20, 25]);
  assert.deepEqual(pluck(drafts(DRAFT_LAYERS, 2), "layers"), [1, 2]);
});

test("a draft is said to save work only where fewer weights are read", () => {
  const off = side("no draft", { right: [null, null], weights: [1, 1] }, 6);
  const lookup = side("prompt lookup", { right: [0.78, 0], weights: [0.4, 1] }, 6);
  const layers = side("first 25 layers", { right: [0.54, 0.3], weights: [1.2, 1.43] }, 6);
  const said = SPECULATION.conclusion(off, lookup, layers);
  assert.match(said, /Prompt lookup: fewer .* repeats the prompt \(0\.40\), not where it is new \(1\.00\)/);
  assert.match(said, /First 25 layers: no fewer .*\(1\.20 and 1\.43\)/);
  assert.equal(SPECULATION.conclusion(off, lookup).includes("layers"), false, "an older log has two rounds");
  const turned = side("prompt lookup", { right: [0, 0.9], weights: [1, 0.3] }, 6);
  assert.match(SPECULATION.conclusion(off, turned), /is new \(0\.30\), not where it repeats the prompt/);
});

test("layers that guess are said to save nothing where none of them does", () => {
  const few = side("first 5 layers", { right: [0.01, 0.02], weights: [1.3, 1.3] }, 4);
  const many = side("first 25 layers", { right: [0.54, 0.3], weights: [1.2, 1.4] }, 4);
  assert.match(
    DRAFT_LAYERS.conclusion(few, many),
    /First 5 layers: 1\u202f% .* First 25 layers: 54\u202f% .* None of these/,
  );
  const good = side("first 25 layers", { right: [0.9, 0.3], weights: [0.8, 1.4] }, 4);
  assert.match(DRAFT_LAYERS.conclusion(few, good), /without a draft: first 25 layers/);
});
