import assert from "node:assert/strict";
import { test } from "node:test";
import { lanesOf, steadyLanes } from "../../../kvscope/static/serving/lanes.js";
import { busyOf, longestWait } from "../../../kvscope/static/serving/measures.js";
import { Tally, tallyOf } from "../../../kvscope/static/serving/tally.js";
import { folded, framesOf, REQUESTS } from "./made.js";

/** A round in which B is preempted and read again, while A waits. */
function withPreemption() {
  const round = structuredClone(folded().rounds[0]);
  const [, , last] = round.passes;
  const [a, b] = last.members;
  const requests = structuredClone(round.passes[1].requests);
  const next = (number, start_ms, ms, members, events = []) => ({
    ...{ number, start_ms, ms, members, events, requests },
    ...{ round: 0, others: last.others, pool: last.pool },
  });
  round.passes = [
    ...round.passes.slice(0, 2),
    next(2, 30, 10, [a], [{ ms: 30, what: "preempted", request: 1, count: 6, other: null }]),
    next(3, 42, 50, [{ ...b, phase: "prefill", first: 0, rows: 6, token: null }]),
    next(4, 92, 5, [a, b]),
  ];
  return round;
}

const shownOf = (tally) => ({ ...tally });

for (const [name, whole] of [
  ["three requests", folded().rounds[0]],
  ["a preempted request", withPreemption()],
]) {
  test(`folded pass by pass it is what it is computed anew, with ${name}`, () => {
    const growing = { ...whole, passes: [], end: null };
    const tally = new Tally();
    for (const pass of whole.passes) {
      growing.passes.push(pass);
      tally.take(growing, REQUESTS);
      tally.take(growing, REQUESTS);
      assert.deepEqual(shownOf(tally), shownOf(tallyOf(growing, REQUESTS)), `after pass ${pass.number}`);
    }
    growing.end = whole.end;
    tally.take(growing, REQUESTS);
    assert.deepEqual(shownOf(tally), shownOf(tallyOf(whole, REQUESTS)));
  });

  test(`the worst wait beside somebody’s reading is the longest of them all, with ${name}`, () => {
    const { stall, answers } = tallyOf(whole, REQUESTS);
    const all = REQUESTS.map((_, reader) => ({ reader, ...longestWait(answers, whole, reader) }));
    const worst = all.filter(({ ms }) => ms).reduce((best, wait) => (wait.ms > best.ms ? wait : best));
    assert.deepEqual(stall, worst);
  });
}

test("it is another version with every pass, and with the end", () => {
  const tally = new Tally();
  const versions = framesOf().flatMap((_, at, all) => {
    const { rounds } = folded(all.slice(0, at + 1));
    tally.take(rounds[0], REQUESTS);
    return [tally.version];
  });
  assert.equal(new Set(versions).size, 5, "none, three passes, the end");
});

test("a lane in which nothing is new is the same one", () => {
  const [two, three] = [3, 4].map((count) => {
    const { rounds } = folded(framesOf().slice(0, count));
    return lanesOf(rounds[0], tallyOf(rounds[0], REQUESTS).answers);
  });
  const [a, , c] = steadyLanes(two, three);
  assert.equal(a, three[0], "A got a token");
  assert.deepEqual(c, two[2]);
  assert.equal(steadyLanes(two, structuredClone(two))[2], two[2]);
});

test("the busy share is measured for the fewest and the most requests in a pass, with tokens per second", () => {
  const { rounds } = folded();
  const [, , both] = rounds[0].passes;
  const going = { requests: both.requests.map((each) => ({ ...each, state: "running" })), events: [] };
  const pass = (number, start_ms, members) => ({ ...both, ...going, number, start_ms, ms: 10, members });
  const [a, b] = both.members;
  const passes = [0, 1, 2, 3, 4, 5].map((at) => pass(at, at * 12.5, at < 3 ? [a] : [a, b]));
  const { byMembers } = tallyOf({ ...rounds[0], passes, end: null }, REQUESTS);
  assert.deepEqual(busyOf(byMembers), [
    { requests: 1, busy: 30 / 37.5, perSecond: 3 / 0.0375 },
    { requests: 2, busy: 30 / 35, perSecond: 6 / 0.035 },
  ]);
  assert.equal(busyOf(tallyOf(rounds[0], REQUESTS).byMembers), null, "one pass is too few");
});

test("who joins later is there from then on", () => {
  const { rounds } = folded(framesOf().slice(0, 2));
  const tally = tallyOf(rounds[0], REQUESTS);
  tally.take(rounds[0], [...REQUESTS, { ...REQUESTS[0], arrives_ms: 12 }]);
  assert.deepEqual([tally.answers.length, tally.answers[3].waits], [4, 12]);
});
