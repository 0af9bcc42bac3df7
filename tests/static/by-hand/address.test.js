import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixWith, readSearch, searchOf } from "../../../kvscope/static/by-hand/address.js";

test("an address is read back as it was written, and stays readable", () => {
  const written = {
    inputs: { w_v1: "1,1;1,2.5", prompt: "0,1,2" },
    cell: "w_v1:1:1",
    phase: "decode",
    predict: 3,
    code: true,
    focus: ["x", "v1"],
  };
  const search = searchOf(written);
  assert.equal(search, "?w_v1=1,1;1,2.5&prompt=0,1,2&cell=w_v1:1:1&step=decode&predict=3&code=1&focus=x,v1");
  assert.deepEqual(readSearch(search), { ...written, inputs: { prompt: "0,1,2", w_v1: "1,1;1,2.5" } });
});

test("invalid parameters are ignored, and the server checks the numbers", () => {
  assert.deepEqual(readSearch("?cell=<b>&step=now&predict=-1&code=yes&evil=1&w_o=abc"), {
    ...{ inputs: { w_o: "abc" }, cell: null, phase: null, predict: null, code: false, focus: null },
  });
  assert.equal(searchOf({ inputs: { w_o: "a&b=c" } }), "?w_o=a%26b%3Dc");
  assert.equal(searchOf({ inputs: {} }), "");
});

test("typed text replaces one number of a matrix", () => {
  assert.equal(
    matrixWith(
      [
        [1, 2],
        [3, 4],
      ],
      [1, 0],
      "x",
    ),
    "1,2;x,4",
  );
});
