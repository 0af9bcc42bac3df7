import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, EXPERIMENTS, firstChoices } from "../../../kvscope/static/serving/experiments.js";
import { resultOf } from "../../../kvscope/static/serving/results.js";
import { ROUTES, ROUTING } from "../../../kvscope/static/serving/routing.js";
import { folded, SETTINGS } from "./made.js";
import { framesOn } from "./on-engines.js";

const POSTED = { system: "s", requests: [], settings: SETTINGS };

test("the same requests, of several beginnings, go to so many engines by each of the routes", () => {
  const { requests, rounds, system } = bodyOf(ROUTING, POSTED, 30, { engines: 3, requests: 40, gap: 100 });
  assert.equal(system, "");
  assert.equal(requests.length, 40);
  assert.equal(new Set(requests.map(({ prompt }) => prompt.split("\n\n")[0])).size, 6);
  assert.deepEqual(
    rounds.map(({ engines, prefix }) => [engines.count, engines.route, prefix]),
    ROUTES.map(({ route }) => [3, route, "blocks"]),
  );
  assert.ok(requests.every(({ cancel_ms, retry_of }) => cancel_ms === null && retry_of === null));
});

test("the result names each route, and counts rows and what the caches had", () => {
  const rounds = ROUTES.map(({ route }) => ({ engines: { count: 2, route, prefill: 0 } }));
  const result = resultOf(folded(framesOn(rounds)));
  assert.equal(result.experiment, ROUTING);
  assert.deepEqual(
    result.rounds.map(({ name }) => name),
    ROUTES.map(({ name }) => name),
  );
  assert.deepEqual(result.rounds[0].values, [18, 8 / 15, 26, 40, 50]);
  assert.match(result.conclusion, /Round “round robin”: 18 rows computed, 53\s?% of the prompt tokens/);
});

test("of experiments on the same setting, each knows its own logs", () => {
  const own = EXPERIMENTS.filter(({ setting }) => setting === "engines");
  for (const each of own) {
    const { rounds } = bodyOf(each, POSTED, 30, firstChoices(each));
    assert.deepEqual(
      own.filter(({ isOf }) => isOf({ rounds })),
      [each],
    );
  }
});
