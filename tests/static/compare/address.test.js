import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf, idIn, isRun, placeOf, sidesOf } from "../../../kvscope/static/compare/address.js";

const RUN = "0123456789abcdef0123456789abcdef";
const SESSION = "iolozd5kcb2e";

test("an address gives back what it was made of", () => {
  const state = { a: { id: RUN }, b: { id: SESSION }, place: { moment: 3, layer: 13, head: 8 } };
  const address = addressOf(state, "?lang=de");
  const [search, hash] = address.split("#");
  assert.equal(new URLSearchParams(search).get("lang"), "de");
  assert.deepEqual(sidesOf(search), { a: RUN, b: SESSION });
  assert.deepEqual(placeOf(hash), state.place);
});

test("an empty page has an address without a query", () => {
  const place = { moment: null, layer: null, head: null };
  assert.equal(addressOf({ a: { id: null }, b: { id: null }, place }, ""), "");
});

test("ids of runs and of saved sessions are told apart", () => {
  assert.deepEqual([RUN, "09a1cb39aa7e090a", SESSION].map(isRun), [true, true, false]);
});

test("a link that somebody pastes names its run or session", () => {
  assert.equal(idIn(` http://localhost:5000/?run=${RUN}#step=3 `), RUN);
  assert.equal(idIn(`https://example.org/below/s/${SESSION}?present=1`), SESSION);
  assert.equal(idIn(`https://example.org/embed/${SESSION}`), SESSION);
  assert.equal(idIn(`file:///site/s/${SESSION}.html#step=1`), SESSION);
  assert.equal(idIn(RUN), RUN);
  for (const text of ["", "hello there", "https://example.org/", "/s/<script>"]) assert.equal(idIn(text), null);
});

test("what is no id is left out of the sides", () => {
  assert.deepEqual(sidesOf("?a=../../etc/passwd&b="), { a: null, b: null });
  const recordings = [{ id: SESSION, name: "loop" }];
  assert.deepEqual(sidesOf(`?a=loop&b=${SESSION}`, recordings), { a: SESSION, b: SESSION });
});
