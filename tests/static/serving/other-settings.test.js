import assert from "node:assert/strict";
import { test } from "node:test";
import { otherSettings } from "../../../kvscope/static/serving/other-settings.js";
import { FIRST, fieldsOf } from "../../../kvscope/static/serving/workload-form.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const log = folded(framesOf([SETTINGS, { ...SETTINGS, chunk: 2 }]));
const same = fieldsOf(log.study, FIRST);

test("a workload with the values of the form has no differences, also after a request joined", () => {
  assert.deepEqual(otherSettings(same, log, log.rounds[0]), []);
  const joined = { begunWith: log.begunWith, study: { ...log.study, requests: [...log.study.requests, REQUESTS[0]] } };
  assert.deepEqual(otherSettings(same, joined, log.rounds[0]), []);
});

test("each difference is listed with the value of the round in sight", () => {
  assert.deepEqual(otherSettings(same, log, log.rounds[1]), ["prompt tokens of a request per pass: 2"]);
  const settings = { ...same.settings, at_once: "6", blocks: "" };
  const changed = { ...same, settings, sameSystem: true };
  assert.deepEqual(otherSettings(changed, log, log.rounds[0]), [
    "no system prompt",
    "at most 2 at once",
    "blocks: at most 6",
  ]);
  assert.deepEqual(otherSettings(FIRST, log, log.rounds[0]), [
    "3 requests",
    "other arrival times",
    "other prompts",
    "no system prompt",
    "other limits of new tokens",
    "other cancellations",
    "at most 2 at once",
    "prompt tokens of a request per pass: 8",
    "blocks: at most 6",
  ]);
});

test("another draft is named, with its numbers", () => {
  const drafted = (draft) => folded(framesOf([{ ...SETTINGS, draft }]));
  const layers = drafted({ tokens: 1, layers: 25 });
  assert.deepEqual(otherSettings(same, layers, layers.rounds[0]), ["draft: first 25 layers, 1 token per pass"]);
  assert.deepEqual(otherSettings(fieldsOf(layers.study, FIRST), layers, layers.rounds[0]), []);
  assert.deepEqual(otherSettings(fieldsOf(layers.study, FIRST), log, log.rounds[0]), ["no draft"]);
});

test("a value that all requests have is listed", () => {
  const alike = REQUESTS.map((request) => ({ ...request, arrives_ms: 0, max_new_tokens: 64, cancel_ms: null }));
  const made = { begunWith: 3, study: { ...log.study, requests: alike } };
  assert.deepEqual(otherSettings(same, made, log.rounds[0]), [
    "all arrive at the same time",
    "at most 64 new tokens each",
    "no cancellation",
  ]);
});
