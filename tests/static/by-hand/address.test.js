import assert from "node:assert/strict";
import { test } from "node:test";
import { matrixWith, readSearch, searchOf } from "../../../static/by-hand/address.js";

test("an address is read back as it was written, and stays readable", () => {
  const said = { asked: { w_v1: "1,1;1,2.5", prompt: "0,1,2" }, cell: "w_v1:1:1", moment: "decode", predict: 3 };
  const search = searchOf(said);
  assert.equal(search, "?w_v1=1,1;1,2.5&prompt=0,1,2&cell=w_v1:1:1&step=decode&predict=3");
  assert.deepEqual(readSearch(search), { ...said, asked: { prompt: "0,1,2", w_v1: "1,1;1,2.5" } });
});

test("what cannot be read is as if it were not there, and what is no number is left to the server", () => {
  assert.deepEqual(readSearch("?cell=<b>&step=now&predict=-1&evil=1&w_o=abc"), {
    ...{ asked: { w_o: "abc" }, cell: null, moment: null, predict: null },
  });
  assert.equal(searchOf({ asked: { w_o: "a&b=c" } }), "?w_o=a%26b%3Dc");
  assert.equal(searchOf({ asked: {} }), "");
});

test("one number of a matrix gives way to what was typed", () => {
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
