import assert from "node:assert/strict";
import { test } from "node:test";
import { whyNoBlockShared, whyNothingShared, whyWaits } from "../../../kvscope/static/serving/joining.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { BLOCK_SIZE, folded, REQUESTS, SETTINGS } from "./made.js";

const round = folded().rounds[0];
const { answers } = tallyOf(round, REQUESTS);
const changed = (change) => {
  const other = structuredClone(round);
  change(other);
  return other;
};

test("a waiting request has the engine's reason with its numbers", () => {
  const says = (event) => whyWaits(event, SETTINGS);
  assert.match(says({ why: "blocks", count: 9, free: 2 }), /9 more blocks.* 2 of 6 are free/);
  assert.match(says({ why: "places", count: 2 }), /at most 2 requests/);
  assert.match(says({ why: "order", other: 1 }), /^B is before it/);
  assert.match(says({ why: "static", count: 1 }), /No request joins until all/);
});

test("why nothing was shared follows from what was in the pool", () => {
  const why = (other) => whyNothingShared(other, 1, 1);
  assert.match(whyNothingShared(round, 0, 0), /no other request/);
  assert.match(why(changed((other) => Object.assign(other.settings, { sharing: false }))), /sharing is off/);
  assert.match(why(changed((other) => Object.assign(other.passes[0].requests[0], { dropped: 3 }))), /gaps/);
  assert.match(why(round), /first token differs/);
  const evicting = changed((other) => other.passes[1].events.push({ what: "evicted", request: 0, count: 2, ms: 9 }));
  assert.match(why(evicting), /evicted/);
});

test("why no block is shared follows from what the running requests shared", () => {
  const pass = round.passes[1];
  const short = answers.map((answer) => ({ ...answer, shared: Math.min(answer.shared, BLOCK_SIZE - 1) }));
  const none = answers.map((answer) => ({ ...answer, shared: 0 }));
  assert.match(whyNoBlockShared(round, pass, short, BLOCK_SIZE), /3 tokens, and a block has 4/);
  assert.match(whyNoBlockShared(round, pass, none, BLOCK_SIZE), /no request in the pool/);
  assert.equal(whyNoBlockShared(round, round.passes[0], answers, BLOCK_SIZE), null);
});
