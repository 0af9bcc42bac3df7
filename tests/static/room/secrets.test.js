/** The secrets of rooms on a device, and codes as people type them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { codeOf, createSecrets, readable, secretInAddress } from "../../../kvscope/static/room/secrets.js";

const SECRET = "0123456789abcdefghijABCDEFGHIJ_-";

function storage() {
  const stored = new Map();
  return { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
}

test("a secret is there until its room expires or is forgotten", () => {
  let now = 1000;
  const secrets = createSecrets(storage(), () => now);
  secrets.add("AAAA2222", "one", 10);
  secrets.add("BBBB3333", "two", 20);
  secrets.add("AAAA2222", "three", 10);
  assert.deepEqual(secrets.codes(), ["AAAA2222", "BBBB3333"]);
  assert.equal(secrets.of("AAAA2222"), "three");
  now = 15_000;
  assert.equal(secrets.of("AAAA2222"), null);
  secrets.forget("BBBB3333");
  assert.deepEqual(secrets.codes(), []);
});

test("the secret in an address is read once and taken out of it", () => {
  let written = null;
  const history = { replaceState: (_state, _title, address) => (written = address) };
  const location = { pathname: "/room/AAAA2222", search: "", hash: `#secret=${SECRET}` };
  assert.equal(secretInAddress({ location, history }), SECRET);
  assert.equal(written, "/room/AAAA2222");
  written = null;
  assert.equal(secretInAddress({ location: { ...location, hash: "#step=3" }, history }), null);
  assert.equal(written, null);
});

test("a code is read in small letters, with spaces and hyphens", () => {
  for (const text of ["abcd-2345", " ABCD 2345 ", "aBcD2345"]) assert.equal(codeOf(text), "ABCD2345");
  assert.equal(readable("ABCD2345"), "ABCD 2345");
  assert.equal(readable(""), "");
});
