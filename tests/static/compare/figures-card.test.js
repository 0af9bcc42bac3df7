import assert from "node:assert/strict";
import { test } from "node:test";
import { timesApart } from "../../../kvscope/static/compare/figures-card.js";

const run = (id, weights_read = { float32: 1 }) => ({ id, open: { model: {} }, steps: [{ data: { weights_read } }] });
const isHere = ({ id }) => id === "own" || id === "other own";

test("times of two runs of this server stand side by side, those of a recording and of an own run do not", () => {
  assert.equal(timesApart(run("own"), run("other own"), isHere), null);
  assert.equal(timesApart(run("recorded"), run("other recording"), isHere), null);
  assert.match(timesApart(run("own"), run("recorded"), isHere), /another machine/);
  assert.match(timesApart(run("recorded"), run("own"), isHere), /another machine/);
});

test("nor do times of runs that read the weights in different formats", () => {
  const apart = timesApart(run("own"), run("other own", { "8-bit groups": 1 }), isHere);
  assert.match(apart, /float32.*8-bit groups/);
  assert.equal(timesApart(run("own"), { ...run("other own"), steps: [] }, isHere), null);
});
