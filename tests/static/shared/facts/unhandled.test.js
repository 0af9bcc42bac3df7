import assert from "node:assert/strict";
import { test } from "node:test";
import { operandsOf } from "../../../../kvscope/static/by-hand/table.js";
import { statusText } from "../../../../kvscope/static/serving/sentences.js";
import { changeInWords } from "../../../../kvscope/static/shared/facts/changes.js";
import { sizesOf } from "../../../../kvscope/static/stage/views/block/matrices.js";

const CHANGE = { site: "layer", op: "zero", layer: 1, head: null, position: null, from_step: 0, factor: 1 };
const DIMS = { heads: 4, kvHeads: 2, headDim: 8, d: 32, mlp: 64 };

const USES = {
  "operation of a change": () => changeInWords({ ...CHANGE, op: "new", source: "a", away: "b" }, []),
  "site of a change": () => changeInWords({ ...CHANGE, site: "new" }, []),
  "state of a request": () => statusText({ state: "new", positions: 0 }, { outputs: [] }, { number: 0 }),
  "matrix of a block": () => sizesOf("mlp.new", DIMS),
  "operation of a calculation": () => operandsOf({ op: "new", of: "a:0:0" }),
};

for (const [what, use] of Object.entries(USES))
  test(`a new ${what} is not taken for another`, () => assert.throws(use, RangeError));
