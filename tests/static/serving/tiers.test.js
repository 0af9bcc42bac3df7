import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf } from "../../../kvscope/static/serving/experiments.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { whatHappened } from "../../../kvscope/static/serving/sentences.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { onGpu, TIERS } from "../../../kvscope/static/serving/tiers.js";
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

test("on a GPU, computing at its peak is set against copying over its link", () => {
  const shape = { heads: 4, d: 32, d_mlp: 64, context: 64, gated: true, positions: "rotary" };
  const model = { ...shape, layers: 2, kv_heads: 2, head_dim: 8 };
  const { computeUs, copyUs } = onGpu(model, { flops: 1e12, link: 1 });
  // Q, K, V and O: 2 · 32 · 8 · (4 + 2) numbers; the MLP: 3 · 32 · 64; two layers, two operations for each.
  assert.equal(computeUs, (2 * 2 * (3072 + 6144)) / 1e6);
  assert.equal(copyUs, (2 * 2 * 2 * 8 * 2) / 1e3);
});

test("what happened names what was stored and copied back, and says of no stored row that it is lost", () => {
  const evicted = { ms: 0, what: "evicted", request: 1, count: 5, other: null };
  const log = folded(framesOn(ROUNDS, (round) => [evicted, ...copies(round)]));
  const [none, memory] = log.rounds.map((round) => {
    const happened = whatHappened(round, log.study.requests, tallyOf(round, log.study.requests), null);
    return happened.map(({ lead, rest }) => `${lead} ${rest}`).join("\n");
  });
  assert.match(none, /rows in it are lost/);
  assert.doesNotMatch(memory, /lost/);
  assert.match(memory, /5 blocks of A are copied to other memory/);
  assert.match(memory, /4 blocks for A are copied back/);
});

test("a request that joins with rows copied back reads only the others", () => {
  const log = folded(framesOn(ROUNDS, copies));
  Object.assign(log.rounds[1].passes[0].members[0], { first: 8, rows: 1 });
  const tally = tallyOf(log.rounds[1], log.study.requests);
  const joined = whatHappened(log.rounds[1], log.study.requests, tally, 3).find(({ what }) => what === "joined");
  assert.equal(joined.rest, "Its 9 tokens are not in the pool. 8 of them were copied back. It must read only 1 token.");
});
