import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../../../../kvscope/static/engine/runs/service.js";

test("new tokens must fit after the prompt, and have a limit of their own", () => {
  const start = (prompt, newTokens) => {
    const parts = { model: { positions: 64, copyRows: () => {} }, info: {}, cost: {}, editsOf: () => {}, now: () => 0 };
    const limits = { prompt_tokens: 9, new_tokens: 4, positions: 10 };
    const tokenizer = { encode: (text) => [...text].map(() => 1) };
    const service = createService(/** @type {any} */ ({ ...parts, limits, tokenizer, onFrames: () => {} }));
    service.start(/** @type {any} */ ({ run: "a", prompt, max_new_tokens: newTokens, reuse: false }));
  };
  assert.throws(() => start("abc", 5), /max_new_tokens is 5; it must be from 1 to 4\./);
  assert.throws(() => start("abcdefgh", 3), /max_new_tokens is 3; it must be from 1 to 2\./);
});
