import assert from "node:assert/strict";
import { test } from "node:test";
import { requestProblem } from "../../../../kvscope/static/stage/state/run-request.js";

const LIMITS = {
  run: {
    ...{ prompt: [1, 8192], max_new_tokens: [1, 256], temperature: [0, 5] },
    ...{ top_k: [0, 1000], top_p: [0, 1], seed: [0, 2 ** 31 - 1] },
  },
};
const GOOD = {
  prompt: "hello",
  sampling: { strategy: "sample", temperature: 0.7, top_k: 40, top_p: 0.95, seed: 1 },
  maxNewTokens: 32,
};

const problemWith = (changes) => {
  const { prompt = GOOD.prompt, maxNewTokens = GOOD.maxNewTokens, ...sampling } = changes;
  return requestProblem({ prompt, maxNewTokens, sampling: { ...GOOD.sampling, ...sampling } }, LIMITS);
};

/** Each value of a setting by itself, with the setting. */
const each = (values) => Object.entries(values).flatMap(([name, all]) => all.map((value) => ({ [name]: value })));

test("what the server takes is no problem, its bounds included", () => {
  const good = each({ temperature: [5, 1e-6], top_k: [0, 1000], top_p: [1], maxNewTokens: [256] });
  for (const changes of [{}, ...good]) assert.equal(problemWith(changes), null);
});

test("a number out of its bounds is named with them", () => {
  const wrong = { temperature: [0, 5.1], top_k: [-1, 2.5], top_p: [0], seed: [2 ** 31], maxNewTokens: [0, 257] };
  for (const changes of each(wrong)) {
    const [name] = Object.keys(changes);
    const { field, limit } = problemWith(changes);
    assert.equal(field, name === "maxNewTokens" ? "max_new_tokens" : name);
    assert.deepEqual(limit, LIMITS.run[field]);
  }
});

test("a prompt is counted in characters, not in UTF-16 units", () => {
  assert.equal(problemWith({ prompt: "🙂".repeat(8192) }), null);
  assert.deepEqual(problemWith({ prompt: "🙂".repeat(8193) }).limit, 8192);
  assert.equal(problemWith({ prompt: "" }).field, "prompt");
});
