import assert from "node:assert/strict";
import { test } from "node:test";
import { addressOf } from "../../static/address.js";
import { formatHash, parseHash, presentOfSearch, runOfSearch } from "../../static/location.js";

test("what is written is read back", () => {
  const values = { step: 3, layer: 13, head: 8, query: 8, key: 0, view: "head" };
  assert.equal(formatHash(values), "#step=3&layer=13&head=8&query=8&key=0&view=head");
  assert.deepEqual(parseHash(formatHash(values)), values);
});

test("what is not there is not written", () => {
  assert.equal(formatHash({ step: 0, query: null, key: undefined, other: 4 }), "#step=0");
  assert.equal(formatHash({}), "");
});

test("unknown names and malformed values are left out", () => {
  const hash = "#step=-1&layer=1e3&head=%20&query=99999999&key=4x&view=%3Cscript%3E&toString=1&valueOf=2&constructor=3";
  assert.deepEqual(parseHash(hash), {});
  assert.deepEqual(parseHash("#step=2&layer=x"), { step: 2 });
  assert.deepEqual(parseHash(""), {});
});

test("the run is named by the address", () => {
  assert.equal(runOfSearch("?run=abc&x=1"), "abc");
  assert.equal(runOfSearch(""), null);
});

test("large type is asked for by a page address, and stays in it", () => {
  assert.equal(presentOfSearch("?run=a1&present=1"), true);
  assert.equal(presentOfSearch("?present=yes"), false);
  const state = { run: { id: "a1", steps: [{}] }, step: 2, selection: { layer: 1 } };
  assert.equal(addressOf({ ...state, present: true }), "/?run=a1&present=1#step=2&layer=1");
  assert.equal(addressOf({ ...state, present: false }), "/?run=a1#step=2&layer=1");
});
