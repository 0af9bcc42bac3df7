import assert from "node:assert/strict";
import { test } from "node:test";
import { askedOf, FIRST } from "../../../static/serving/asked.js";
import { otherSettings } from "../../../static/serving/other-settings.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const log = folded(framesOf([SETTINGS, { ...SETTINGS, chunk: 2 }]));
const same = askedOf(log.study, FIRST);

test("what was asked as the fields say differs in nothing, whoever joined", () => {
  assert.deepEqual(otherSettings(same, log, log.rounds[0]), []);
  const joined = { begunWith: log.begunWith, study: { ...log.study, requests: [...log.study.requests, REQUESTS[0]] } };
  assert.deepEqual(otherSettings(same, joined, log.rounds[0]), []);
});

test("each difference is told as it is in the round in sight", () => {
  assert.deepEqual(otherSettings(same, log, log.rounds[1]), ["2 tokens of a prompt a pass"]);
  const settings = { ...same.settings, at_once: "6", blocks: "" };
  const changed = { ...same, settings, sameSystem: true };
  assert.deepEqual(otherSettings(changed, log, log.rounds[0]), [
    "no system prompt",
    "at most 2 at once",
    "at most 6 blocks",
  ]);
  assert.deepEqual(otherSettings(FIRST, log, log.rounds[0]), [
    "3 people",
    "at other times",
    "other prompts",
    "no system prompt",
    "answers of other lengths",
    "others give up",
    "at most 2 at once",
    "8 tokens of a prompt a pass",
    "at most 6 blocks",
  ]);
});

test("requests that are alike in something are told with it", () => {
  const alike = REQUESTS.map((request) => ({ ...request, arrives_ms: 0, max_new_tokens: 64, cancel_ms: null }));
  const made = { begunWith: 3, study: { ...log.study, requests: alike } };
  assert.deepEqual(otherSettings(same, made, log.rounds[0]), [
    "all at the same moment",
    "up to 64 new tokens each",
    "nobody gives up",
  ]);
});
