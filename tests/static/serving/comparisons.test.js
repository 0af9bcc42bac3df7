import assert from "node:assert/strict";
import { test } from "node:test";
import {
  disturbedText,
  evictionResult,
  reserveResult,
  sharingResult,
} from "../../../kvscope/static/serving/comparisons.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
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

test("an eviction that saves no blocks says how many blocks sharing saved", () => {
  const drops = (round) => {
    unshared(round);
    Object.assign(round.settings, { keep: { sinks: 1, heavy: 0, recent: 3 } });
    round.passes[2].requests[0].dropped = 3;
  };
  const result = evictionResult(side(0, "all"), side(1, "1 + 3", drops));
  assert.match(result, /^3 rows were dropped.*saved no blocks.* shared up to 1 block/);
  const nothing = (round) => Object.assign(round.settings, { keep: { sinks: 1, heavy: 0, recent: 30 } });
  assert.match(evictionResult(side(0, "all"), side(1, "1 + 30", nothing)), /more than 31 rows.*nothing was dropped/);
});

test("paging that took longer has its passes and intervals, and the preemptions", () => {
  const back = (round) => round.passes[1].events.push({ ms: 12, what: "preempted", request: 0, count: 5, other: null });
  const longer = reserveResult(side(0, "reserved"), side(1, "paged", back));
  assert.match(longer, /Preemptions: 1\..* “paged” still took longer.* “paged”: 3 passes/);
  const enough = reserveResult(side(1, "reserved"), side(0, "paged"));
  assert.equal(enough, "Paged memory was enough: no request was preempted.");
});

test("times of disturbed rounds are not compared", () => {
  const busy = (round) => {
    for (const pass of round.passes)
      pass.conditions = { disturbed: true, others: 0, waiting: 0.6, switches: 9, stolen: 0 };
  };
  const [quiet, disturbed] = [side(0, "reserved"), side(1, "paged", busy)];
  assert.equal(disturbedText([quiet, quiet]), null);
  assert.match(disturbedText([quiet, disturbed]), /“paged”: /);
  assert.match(reserveResult(quiet, side(1, "paged")), /took longer/);
  assert.doesNotMatch(reserveResult(quiet, disturbed), /took longer/);
});

test("sharing that found nothing has a sentence for that", () => {
  assert.match(sharingResult(side(0, "off", unshared), side(1, "on")), /1 request found 4 rows/);
  assert.match(sharingResult(side(0, "off"), side(0, "on", unshared)), /^Nothing was shared/);
});
