import assert from "node:assert/strict";
import { test } from "node:test";
import { createDeleteTokens, OF_RUNS, OF_SHARED } from "../../../../kvscope/static/shared/state/delete-tokens.js";

/** A device that has `text` under the key of runs. */
const storage = (text = null) => {
  const kept = new Map([[OF_RUNS, text]]);
  return { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
};
const ofRuns = (device) => createDeleteTokens(device, OF_RUNS);

test("delete tokens are stored on the device until they are used", () => {
  const device = storage();
  const tokens = ofRuns(device);
  assert.equal(tokens.of("a"), null);
  tokens.add("a", "1");
  tokens.add("b", "2");
  assert.equal(ofRuns(device).of("a"), "1");
  tokens.forget("a", "1");
  assert.deepEqual([tokens.of("a"), tokens.of("b")], [null, "2"]);
});

test("a session shared twice has two tokens, separate from the tokens of runs", () => {
  const device = storage();
  const shared = createDeleteTokens(device, OF_SHARED);
  shared.add("s", "first");
  shared.add("s", "second");
  assert.equal(ofRuns(device).of("s"), null);
  shared.forget("s", "first");
  assert.equal(shared.of("s"), "second");
});

test("the oldest tokens above the limit are dropped", () => {
  const tokens = ofRuns(storage());
  for (let run = 0; run < 250; run++) tokens.add(`r${run}`, "t");
  assert.deepEqual([tokens.of("r49"), tokens.of("r50"), tokens.of("r249")], [null, "t", "t"]);
});

test("invalid stored entries are ignored", () => {
  for (const text of ["{", "7", '{"a": 1}', '[["a"], 3, ["b", "2"]]']) {
    const tokens = ofRuns(storage(text));
    assert.equal(tokens.of("a"), null);
  }
});
