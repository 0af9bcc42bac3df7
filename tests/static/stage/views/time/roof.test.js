import assert from "node:assert/strict";
import { test } from "node:test";
import { roofAt, roofline, roofTexts } from "../../../../../kvscope/static/stage/views/time/roof.js";

const quiet = { disturbed: false, others: 0 };
const take = (per_second, conditions = quiet) => ({ per_second, spread: [per_second, per_second], conditions });
const MEASURED = { dtype: "float32", bandwidth: take(10e9), peak: take(200e9) };
const phase = (intensity, flopsPerSecond, disturbed = false) => ({ intensity, flopsPerSecond, disturbed });

test("bandwidth limits below the ridge, the peak above it", () => {
  assert.equal(roofAt(2, MEASURED), 20e9);
  assert.equal(roofAt(20, MEASURED), 200e9);
  assert.equal(roofAt(500, MEASURED), 200e9);
});

test("the axes hold the ridge, the whole roof and every point", () => {
  const { x, y, ridge, line, points } = roofline({ prefill: phase(100, 90e9), decode: phase(3, 12e9) }, MEASURED);
  assert.equal(ridge, 20);
  for (const [at, value] of [...line, ...points.map((point) => [point.x, point.y])]) {
    assert.ok(x[0] <= at && at <= x[1]);
    assert.ok(y[0] <= value && value <= y[1]);
  }
  assert.deepEqual(line[1], [20, 200e9]);
});

test("a phase that did not run here has no point", () => {
  assert.deepEqual(
    roofline({ prefill: null, decode: phase(3, 12e9) }, MEASURED).points.map((point) => point.phase),
    ["decode"],
  );
});

test("each phase is compared with what limits it there", () => {
  const facts = roofline({ prefill: phase(100, 90e9), decode: phase(3, 12e9) }, MEASURED);
  const [prefill, decode] = roofTexts(facts, MEASURED);
  assert.match(prefill, /100 FLOP per byte: the measured peak allows 200\s.*reached 90\.0.*, 45\s%/u);
  assert.match(decode, /3\.00 FLOP per byte: the measured bandwidth allows 30\.0.*reached 12\.0.*, 40\s%/u);
});

test("a disturbed time, and a disturbed measurement, are compared with nothing", () => {
  const disturbed = roofline({ prefill: null, decode: phase(3, 12e9, true) }, MEASURED);
  assert.doesNotMatch(roofTexts(disturbed, MEASURED).join(), /%/);
  const busy = { ...MEASURED, peak: take(200e9, { disturbed: true, others: 0, waiting: 0.8 }) };
  const calm = roofline({ prefill: null, decode: phase(3, 12e9) }, busy);
  assert.match(roofTexts(calm, busy)[0], /measurement was disturbed/);
  assert.doesNotMatch(roofTexts(calm, busy)[0], /%/);
});

test("more than the roof is said to be more than the measurement", () => {
  const facts = roofline({ prefill: null, decode: phase(3, 60e9) }, MEASURED);
  assert.match(roofTexts(facts, MEASURED)[0], /200\s%.*more than in the measurement/u);
});
