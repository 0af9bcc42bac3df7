import assert from "node:assert/strict";
import { test } from "node:test";
import { paceOf } from "../../../../kvscope/static/shared/state/pace.js";

const SLOW = { from: 0.25, to: 0.5, ms: 900 };
const near = (a, b) => assert.ok(Math.abs(a - b) < 1e-9, `${a}, not ${b}`);

test("without a slow part progress is the share of the time", () => {
  const pace = paceOf(200);
  assert.equal(pace.ms, 200);
  near(pace.progressAt(50), 0.25);
  near(pace.timeAt(0.25), 50);
});

test("the slow part has its own duration, and the parts before and after it keep theirs", () => {
  const pace = paceOf(400, SLOW);
  assert.equal(pace.ms, 100 + 900 + 200);
  near(pace.progressAt(100), 0.25);
  near(pace.progressAt(550), 0.375);
  near(pace.progressAt(1000), 0.5);
  near(pace.progressAt(1100), 0.75);
  near(pace.progressAt(1200), 1);
});

test("time and progress are each other's inverse", () => {
  const pace = paceOf(400, SLOW);
  for (let time = 0; time <= pace.ms; time += 37) near(pace.timeAt(pace.progressAt(time)), time);
});

test("a part that is slow already is not shortened, and one without length takes no time", () => {
  assert.equal(paceOf(4000, SLOW).ms, 4000);
  assert.equal(paceOf(400, { from: 0.5, to: 0.5, ms: 900 }).ms, 400);
});
