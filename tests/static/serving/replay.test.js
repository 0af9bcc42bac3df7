import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, firstChoices } from "../../../kvscope/static/serving/experiments.js";
import { LOAD } from "../../../kvscope/static/serving/load.js";
import { CHARACTERS_PER_TOKEN } from "../../../kvscope/static/serving/prompts.js";
import { replayOf } from "../../../kvscope/static/serving/replay.js";
import { SETTINGS } from "./made.js";

const LIMITS = { requests: [1, 3], max_new_tokens: [1, 64], arrives_ms: [0, 10_000], prompt_tokens: [1, 1000] };
const lines = (...each) => each.map((line) => (typeof line === "string" ? line : JSON.stringify(line))).join("\n");
const problem = (...each) => replayOf(lines(...each), LIMITS).problem;

test("requests of a file arrive as it says, counted from the first, with its prompts", () => {
  const parsed = replayOf(
    lines({ arrives_ms: 500, max_new_tokens: 8, prompt: "a" }, "", {
      arrives_ms: 700.4,
      max_new_tokens: 9,
      prompt: "b",
    }),
    LIMITS,
  );
  assert.equal(parsed.estimated, false);
  assert.deepEqual(
    parsed.requests.map(({ arrives_ms, max_new_tokens, prompt, cancel_ms }) => [
      arrives_ms,
      max_new_tokens,
      prompt,
      cancel_ms,
    ]),
    [
      [0, 8, "a", null],
      [200, 9, "b", null],
    ],
  );
  const { requests, rounds } = bodyOf(LOAD, { system: "s", requests: [], settings: SETTINGS }, 30, {
    ...firstChoices(LOAD),
    file: parsed,
  });
  assert.equal(requests, parsed.requests);
  assert.equal(rounds.length, 5);
});

test("of a trace with lengths only, prompts of about those lengths are made", () => {
  const { requests, estimated } = replayOf(
    lines({ timestamp: 0, input_length: 100, output_length: 5, hash_ids: [] }),
    LIMITS,
  );
  assert.equal(estimated, true);
  assert.equal(requests[0].prompt.length, Math.round(100 * CHARACTERS_PER_TOKEN));
  assert.equal(requests[0].max_new_tokens, 5);
});

test("a mistake is named with its line, and nothing is taken", () => {
  const good = { arrives_ms: 0, max_new_tokens: 1, prompt: "a" };
  assert.match(problem(""), /empty/);
  assert.match(problem(good, "{"), /^Line 2: it is not JSON/);
  assert.match(problem("[]"), /not an object/);
  assert.match(
    problem(good, "", { ...good, arrives_ms: -5 }),
    /^Line 3: arrives_ms is -5; it must be a number from 0 to 10,000/,
  );
  assert.match(problem({ ...good, arrives_ms: null }), /arrives_ms is missing/);
  assert.match(problem({ ...good, max_new_tokens: "8" }), /max_new_tokens is "8"/);
  assert.match(problem({ ...good, prompt: "" }), /prompt_tokens is missing/);
  assert.match(problem({ timestamp: 0, output_length: 900, input_length: 5 }), /output_length is 900/);
  assert.match(problem(good, good, good, good), /has 4 requests; at most 3/);
});
