import assert from "node:assert/strict";
import { test } from "node:test";
import { namedTokens, tokensLike } from "../../../../../kvscope/static/stage/views/tokens/token-names.js";
import { token } from "../../../support/wire.js";

const TOKENS = [token(" The", 1), token("the", 2), token(" the", 3), token("\n", 4), token(" then", 5)];
const ids = (text, rankOf = () => -1) => tokensLike(TOKENS, text, rankOf).map(({ id }) => id);

test("a word is found with and without its space, the likelier first, other capitals last", () => {
  assert.deepEqual(
    ids("the", ({ id }) => ({ 2: 9, 3: 4 })[id] ?? -1),
    [3, 2, 1],
  );
  assert.deepEqual(ids(" the "), [2, 3, 1]);
  assert.deepEqual(ids("⏎"), [4]);
  assert.deepEqual(ids("th"), []);
  assert.deepEqual(ids("  "), []);
});

test("a log names the tokens of its run and the best candidates of every step", () => {
  const run = {
    tokens: [TOKENS[0]],
    steps: [{ data: { top_tokens: [TOKENS[1]] } }, { data: { top_tokens: [TOKENS[2]] } }],
  };
  assert.deepEqual([...namedTokens(run).keys()].sort(), [1, 2, 3]);
});
