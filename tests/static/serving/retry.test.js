import assert from "node:assert/strict";
import { test } from "node:test";
import { CANCEL_AND_RETRY } from "../../../kvscope/static/serving/retry.js";
import { whatHappened } from "../../../kvscope/static/serving/sentences.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { folded, REQUESTS } from "./made.js";

const answer = (more) => ({ arrived: 0, outputs: [], rows: 6, shared: 0, reads: [], end: null, ...more });
const pass = (tables, events = []) => ({ requests: tables.map((table) => ({ table })), events });
const cancelled = (free) => ({ what: "cancelled", request: 0, count: 2, free });

function side(name, { free, shared = 0, end = "cancelled" }) {
  return {
    name,
    round: { settings: { blocks: 8 }, passes: [pass([[0, 1], []]), pass([[], [2]], [cancelled(free)])] },
    answers: [answer({ end: { what: end, ms: 9 } }), answer({ arrived: 9, shared, reads: [{ rows: 6 - shared }] })],
  };
}

test("what a cancellation gave back, and what its retry found, is counted by the engine", () => {
  const said = CANCEL_AND_RETRY.conclusion(side("no reuse", { free: 8 }), side("reuse", { free: 6, shared: 5 }));
  assert.match(said, /“no reuse”: .* held 2 blocks\. Free blocks: 6 of 8 before, 8 after/);
  assert.match(said, /“reuse”: .* stay in the cache .* 6 of 8 before and after/);
  assert.match(said, /did not compute 5 rows/);
  const [rows, found] = CANCEL_AND_RETRY.figures.map(({ of }) => of(side("reuse", { free: 6, shared: 5 })));
  assert.deepEqual([rows, found], [1, 5]);
});

test("a run on which nothing was cancelled says why", () => {
  const done = side("reuse", { free: 6, end: "done" });
  assert.match(CANCEL_AND_RETRY.conclusion(done, done), /ended by itself .* before its client cancelled it/);
  assert.match(
    CANCEL_AND_RETRY.conclusion(side("no reuse", { free: 8 }), side("reuse", { free: 8 })),
    /The retry found nothing in the cache/,
  );
});

test("rows of a cancelled request are called lost only if its retry could have had them", () => {
  const requests = REQUESTS.map((request, at) => (at === 1 ? { ...request, retry_of: 0 } : request));
  const says = (found) => {
    const { rounds } = folded();
    const [round] = rounds;
    round.passes[1].events.find(({ what }) => what === "shared").count = found;
    return JSON.stringify(whatHappened(round, requests, tallyOf(round, requests), null));
  };
  assert.equal(requests[1].tokens, 6);
  assert.ok(!says(5).includes("no longer holds"), "its last token is computed by every request");
  assert.ok(says(4).includes("no longer holds"));
});
