import assert from "node:assert/strict";
import { test } from "node:test";
import { disturbance, originOf, undisturbed } from "../../../static/facts/conditions.js";

const quiet = { disturbed: false, others: 0, waiting: 0.02, switches: 1, stolen: 0 };
const step = (conditions, batch = 1) => ({ data: { batch, conditions } });

test("a time is disturbed by other runs, by the machine, and in an older log by other runs alone", () => {
  assert.equal(disturbance({ conditions: quiet }), null);
  assert.match(disturbance({ conditions: { ...quiet, disturbed: true, others: 3 } }), /3 other runs/);
  assert.match(disturbance({ conditions: { ...quiet, disturbed: true, waiting: 0.8 } }), /80\s%/);
  assert.doesNotMatch(disturbance({ conditions: { ...quiet, disturbed: true, waiting: null } }), /%/);
  assert.match(disturbance({ batch: 2 }), /1 other run/);
  assert.equal(disturbance({ batch: 1 }), null);
});

test("steps that something disturbed are left out, and their badge says so", () => {
  const steps = [step(quiet), step({ ...quiet, disturbed: true }), step(undefined, 3)];
  assert.deepEqual(undisturbed(steps), [steps[0]]);
  assert.deepEqual([originOf(steps), originOf(steps.slice(0, 1))], ["disturbed", "measured"]);
});
