import assert from "node:assert/strict";
import { test } from "node:test";
import {
  disturbance,
  disturbanceOfAll,
  originOf,
  timed,
  undisturbed,
} from "../../../../kvscope/static/shared/facts/conditions.js";

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

test("disturbed steps are left out, and their badge says so", () => {
  const steps = [step(quiet), step({ ...quiet, disturbed: true }), step(undefined, 3)];
  assert.deepEqual(undisturbed(steps), [steps[0]]);
  assert.deepEqual([originOf(steps), originOf(steps.slice(0, 1))], ["disturbed", "measured"]);
});

test("a disturbed time is marked", () => {
  assert.doesNotMatch(timed(12, { conditions: quiet }), /disturbed/);
  assert.match(timed(12, { conditions: { ...quiet, disturbed: true } }), /^12.*disturbed/);
});

test("the time of several passes is disturbed if disturbed passes take more than a tenth of it", () => {
  const pass = (ms, disturbed) => ({ ms, conditions: { ...quiet, disturbed } });
  assert.equal(disturbanceOfAll([pass(90, false), pass(10, true)]), null);
  assert.match(disturbanceOfAll([pass(80, false), pass(10, true), pass(10, true)]), /^2 passes of 3/);
  assert.equal(disturbanceOfAll([]), null);
  assert.equal(disturbanceOfAll([{ ms: 5 }]), null);
});
