import assert from "node:assert/strict";
import { test } from "node:test";
import { readSearch, searchOf } from "../../../../kvscope/static/learn/parts/use-address.js";
import { readWhole } from "../../../../kvscope/static/learn/parts/use-numbers.js";

const FIELD = { name: "Tokens", least: 1, most: 1000 };

test("a number may have separators", () => {
  for (const text of ["512", " 512", "5 12", "0512"]) assert.deepEqual(readWhole(text, FIELD), { value: 512 });
  assert.deepEqual(readWhole("1,000", FIELD), { value: 1000 });
});

test("an invalid number is refused with its name and the allowed range", () => {
  for (const text of ["", "abc", "-3", "0", "1001", "1e9", "12px", "9".repeat(40)]) {
    const { problem } = readWhole(text, FIELD);
    assert.match(problem, /Tokens/);
    assert.match(problem, /1 to 1,000/);
  }
});

const FIRST = { n: "512", k: "512" };

test("the address has the fields that differ, and keeps its language", () => {
  assert.equal(searchOf(FIRST, FIRST, ""), "");
  assert.equal(searchOf({ n: "7", k: "512" }, FIRST, "?lang=xx&n=512"), "?lang=xx&n=7");
  const odd = { n: "<b>&=", k: "1 2" };
  assert.deepEqual(readSearch(searchOf(odd, FIRST, ""), FIRST), odd);
  assert.deepEqual(readSearch("?n=3&other=1", FIRST), { n: "3", k: "512" });
});
