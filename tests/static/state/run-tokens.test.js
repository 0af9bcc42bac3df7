import assert from "node:assert/strict";
import { test } from "node:test";
import { createRunTokens } from "../../../static/state/run-tokens.js";

const storage = (text = null) => ({ text, getItem: () => text, setItem: (_key, value) => (text = value) });

test("tokens are kept on the device until they are used", () => {
  const device = storage();
  const tokens = createRunTokens(device);
  assert.equal(tokens.of("a"), null);
  tokens.add("a", "1");
  tokens.add("b", "2");
  assert.equal(createRunTokens(device).of("a"), "1");
  tokens.forget("a");
  assert.deepEqual([tokens.of("a"), tokens.of("b")], [null, "2"]);
});

test("the oldest of very many are forgotten", () => {
  const tokens = createRunTokens(storage());
  for (let run = 0; run < 250; run++) tokens.add(`r${run}`, "t");
  assert.deepEqual([tokens.of("r49"), tokens.of("r50"), tokens.of("r249")], [null, "t", "t"]);
});

test("what something else has left there is passed over", () => {
  for (const text of ["{", "7", '{"a": 1}', '[["a"], 3, ["b", "2"]]']) {
    const tokens = createRunTokens(storage(text));
    assert.equal(tokens.of("a"), null);
  }
});
