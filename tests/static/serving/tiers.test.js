import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { TIERS } from "../../../kvscope/static/serving/tiers.js";
import { folded, SETTINGS } from "./made.js";
import { framesOn } from "./on-engines.js";

const ROUNDS = ["none", "memory", "file"].map((tier) => ({ tier }));
/** Copying back takes 2 ms for a block from memory, and nothing comes from the file. */
const event = (what, count, took_ms) => ({ ms: 0, what, request: 0, count, bytes: 512 * count, took_ms, other: null });
const copies = (round) => (round === 1 ? [event("stored", 5, 1), event("fetched", 4, 8)] : []);

test("the same long prompts come again in each round, with too few blocks for all of them", () => {
  const { requests, rounds } = bodyOf(TIERS, { system: "s", requests: [], settings: SETTINGS }, 30);
  assert.equal(new Set(requests.map(({ prompt }) => prompt)).size * 3, requests.length);
  assert.deepEqual(
    rounds.map(({ tier, prefix, engines }) => [tier, prefix, engines]),
    ROUNDS.map(({ tier }) => [tier, "blocks", null]),
  );
});

test("copying a block back is compared with computing its rows, as both were measured", () => {
  const result = resultOf(folded(framesOn(ROUNDS, copies)));
  assert.equal(result.experiment, TIERS);
  assert.deepEqual(
    result.rounds.map(({ values }) => values.slice(2)),
    [
      [0, 0, 0, null],
      [5, 4, 2048, 2],
      [0, 0, 0, null],
    ],
  );
  // 15 rows in 52 ms of passes that only read prompts: 13.9 ms for a block of 4.
  assert.match(result.conclusion, /computed 15 rows, a block of 4 in 13\.9 ms on average/);
  assert.match(
    result.conclusion,
    /Round “memory”: 4 blocks copied back, each in 2\.00 ms; computing it takes 6\.9 × as long/,
  );
  assert.match(result.conclusion, /Round “file”: no block was copied back/);
});
