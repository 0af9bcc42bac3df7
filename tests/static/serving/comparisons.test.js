import assert from "node:assert/strict";
import { test } from "node:test";
import { disturbedSays, formatsSay, keepSays, reserveSays, sharingSays } from "../../../static/serving/comparisons.js";
import { tallyOf } from "../../../static/serving/tally.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const { rounds } = folded(framesOf([SETTINGS, SETTINGS]));
const side = (at, name, change = () => {}) => {
  const round = structuredClone(rounds[at]);
  change(round);
  return { name, round, requests: REQUESTS, answers: tallyOf(round, REQUESTS).answers };
};
const unshared = (round) => {
  for (const pass of round.passes) {
    pass.events = pass.events.filter(({ what }) => what !== "shared");
    pass.requests.forEach((state, request) => {
      state.table = state.table.map((id) => 5 * request + id);
    });
  }
};

test("an eviction that saves no blocks says that sharing saved as many", () => {
  const drops = (round) => {
    unshared(round);
    Object.assign(round.settings, { keep: { sinks: 1, heavy: 0, recent: 3 } });
    round.passes[2].requests[0].dropped = 3;
  };
  assert.match(
    keepSays(side(0, "all"), side(1, "1 + 3", drops)),
    /^3 rows were dropped.*That saved no blocks: .*1 block was/,
  );
  const nothing = (round) => Object.assign(round.settings, { keep: { sinks: 1, heavy: 0, recent: 30 } });
  assert.match(keepSays(side(0, "all"), side(1, "1 + 30", nothing)), /more than 31 rows.*nothing was dropped/);
});

test("paging that took longer says what its time is made of, and how often somebody made room", () => {
  const back = (round) => round.passes[1].events.push({ ms: 12, what: "preempted", request: 0, count: 5, other: null });
  assert.match(
    reserveSays(side(0, "reserved"), side(1, "paged", back)),
    /1 time .* It took longer all the same: paged 3 passes/,
  );
  assert.equal(reserveSays(side(1, "reserved"), side(0, "paged")), "Paged memory was enough: nobody had to make room.");
});

test("rounds that something disturbed are not compared by their times", () => {
  const busy = (round) => {
    for (const pass of round.passes)
      pass.conditions = { disturbed: true, others: 0, waiting: 0.6, switches: 9, stolen: 0 };
  };
  const [quiet, disturbed] = [side(0, "reserved"), side(1, "paged", busy)];
  assert.equal(disturbedSays([quiet, quiet]), null);
  assert.match(disturbedSays([quiet, disturbed]), /3 passes of 3 .* of “paged”/);
  assert.match(reserveSays(quiet, side(1, "paged")), /took longer/);
  assert.doesNotMatch(reserveSays(quiet, disturbed), /took longer/);
});

test("sharing that found nothing says so", () => {
  assert.match(sharingSays(side(0, "off", unshared), side(1, "on")), /1 person found 4 rows/);
  assert.match(sharingSays(side(0, "off"), side(0, "on", unshared)), /^Nothing was shared/);
});

test("rounds that read the weights in other formats are not set side by side without saying so", () => {
  const reads = (format) => (round) => {
    for (const pass of round.passes) pass.weights_read = { [format]: 8 };
  };
  const [groups, plain] = [side(0, "off", reads("4-bit groups")), side(1, "on", reads("float32"))];
  assert.match(formatsSay([groups, plain]), /3 of 3 passes with “off”|3 of 3 passes with “on”/);
  assert.equal(formatsSay([plain, plain]), null);
  assert.equal(formatsSay([side(0, "off"), side(1, "on")]), null);
});
