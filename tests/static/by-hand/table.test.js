import assert from "node:assert/strict";
import { test } from "node:test";
import { misprintsOf } from "../../../kvscope/static/by-hand/misprints.js";
import { neighboursOf } from "../../../kvscope/static/by-hand/neighbours.js";
import { hiddenIn, isRight } from "../../../kvscope/static/by-hand/predict.js";
import {
  calculationOf,
  cellsOf,
  kindOf,
  numberIn,
  operandsOf,
  tableOf,
  usesOf,
} from "../../../kvscope/static/by-hand/table.js";
import { A, B, worked } from "./worked.js";

const tables = { a: tableOf(worked(A)), b: tableOf(worked(B)) };

for (const [name, table] of Object.entries(tables)) {
  test(`${name}: operands and uses agree`, () => {
    for (const cell of cellsOf(table)) {
      for (const operand of operandsOf(calculationOf(table, cell)))
        assert.ok(usesOf(table, operand).includes(cell), cell);
    }
  });
}

test("prefill has no next token, and decode computes only its row", () => {
  const table = tables.a;
  const cells = ["q1:2:0", "k1:2:0", "q1:3:0", "kt1:0:3", "weights1:0:1", "weights1:1:3", "x:0:0", "w_q1:0:0"];
  const kinds = (phase) => cells.map((cell) => kindOf(table, cell, phase)).join(" ");
  assert.equal(kinds("prefill"), "computed computed absent absent masked absent input input");
  assert.equal(kinds("decode"), "past cached computed computed masked absent input input");
});

test("only the last row of a pass has logits", () => {
  const kinds = (phase) => [0, 1, 2].map((row) => kindOf(tables.b, `logits:${row}:0`, phase));
  assert.deepEqual(kinds("prefill"), ["absent", "computed", "absent"]);
  assert.deepEqual(kinds("decode"), ["absent", "past", "computed"]);
});

test("the neighbours of a weight are its score, its scaled score, and the output", () => {
  assert.deepEqual(neighboursOf(tables.a, "weights1:2:1"), {
    ...{ before: ["scores1:2:1", "scaled1:2:1"], after: "mixed1:2:0", through: "weights1:2:1" },
  });
});

test("every misprint belongs to a cell", () => {
  for (const cell of misprintsOf("b")) assert.notEqual(numberIn(tables.b, cell), null, cell);
});

test("each round hides two others, of what the phase computes", () => {
  const seen = new Set();
  for (const phase of ["prefill", "decode"]) {
    for (let round = 0; round < 40; round += 1) {
      const cells = hiddenIn(tables.b, phase, round);
      assert.equal(new Set(cells).size, 2);
      for (const cell of cells) assert.equal(kindOf(tables.b, cell, phase), "computed", cell);
      seen.add(cells.join());
    }
  }
  assert.ok(seen.size > 20);
});

test("a thousandth either way is right, two are not", () => {
  const is = numberIn(tables.a, "weights1:2:1");
  const typed = [is.toFixed(3), (is + 0.00099).toFixed(5), (is + 0.002).toFixed(4), "?"];
  const right = typed.map((text) => isRight(tables.a, "weights1:2:1", text));
  assert.deepEqual(right, [true, true, false, null]);
});

test("the parts of the heads are of their own rows of W_O, and add up to the attention output", () => {
  const { terms } = calculationOf(tables.b, "share2:1:3");
  assert.deepEqual(terms, [
    ["mixed2:1:0", "w_o:2:3"],
    ["mixed2:1:1", "w_o:3:3"],
  ]);
  assert.deepEqual(operandsOf(calculationOf(tables.b, "summed:1:3")), ["share1:1:3", "share2:1:3"]);
  assert.equal(numberIn(tables.b, "summed:1:3"), numberIn(tables.b, "output:1:3"));
});
