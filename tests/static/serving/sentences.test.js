import assert from "node:assert/strict";
import { test } from "node:test";
import { howItWent, setBackBefore, standing, whatHappened, whatItDid } from "../../../static/serving/sentences.js";
import { tallyOf } from "../../../static/serving/tally.js";
import { folded, REQUESTS } from "./made.js";

const round = folded().rounds[0];
const { answers } = tallyOf(round, REQUESTS);
const told = (events) => events.map(({ ms, lead, rest }) => `${ms}: ${lead}${rest}`);

test("what a pass did is one sentence", () => {
  assert.equal(
    whatItDid(round.passes[0], 1),
    "pass 1 read 5 tokens of A’s prompt and gave A its first token, all in one go of",
  );
  assert.equal(
    whatItDid(round.passes[1], 2),
    "pass 2 gave A its next token, read 2 more tokens of B’s prompt, gave B its first token and computed 3 rows of other people’s runs, all in one go of",
  );
  assert.equal(whatItDid(round.passes[2], 3), "pass 3 gave A and B their next token, all in one go of");
  const alone = { ...round.passes[2], members: [round.passes[2].members[0]] };
  assert.equal(whatItDid(alone, 3), "pass 3 gave A its next token, in");
  const again = { ...round.passes[0], members: [{ ...round.passes[0].members[0], token: null }] };
  assert.equal(whatItDid(again, 1, new Set([0])), "pass 1 computed 5 rows of A again, in");
  assert.equal(
    whatItDid({ ...alone, members: [], others: { requests: 1, rows: 1 } }, 3),
    "pass 3 computed 1 row of other people’s runs, in",
  );
});

test("guesses are told, and how many of them were right", () => {
  const [a, b] = round.passes[2].members;
  const guessing = {
    ...round.passes[2],
    members: [
      { ...a, rows: 4, guessed: 3, more: [a.token, a.token] },
      { ...b, rows: 2, guessed: 1, more: [] },
    ],
  };
  assert.equal(
    whatItDid(guessing, 3),
    "pass 3 gave B its next token, gave A its next 3 tokens and checked 4 guesses, 2 of them right, all in one go of",
  );
});

test("what happened is told newest first, each with what it cost", () => {
  assert.deepEqual(told(whatHappened(round, REQUESTS, tallyOf(round, REQUESTS), 1)), [
    "30: B’s first token, 22 ms after it asked.",
    "28: C gives up 13 ms after it asked: the next pass had not begun. Nothing was computed for it, and it held no blocks.",
    "10: B joins after 2 ms: 4 of 6 tokens were in the pool already, A’s; only 2 are to be read.",
    "10: A’s first token, 10 ms after it asked.",
    "8: B asks and waits.",
    "0: A joins with 5 tokens to read. Nothing is shared: nobody’s beginning was in the pool yet.",
  ]);
  assert.equal(
    told(whatHappened(round, REQUESTS, tallyOf(round, REQUESTS), null))[0],
    "40: B is done: 2 tokens in 32 ms, the first to be read after 22 ms; its place in the pass is free.",
  );
});

test("rarer things are told too", () => {
  const rare = structuredClone(round);
  const event = (what, request, more = {}) => ({ ms: 35, what, request, count: null, other: null, ...more });
  rare.passes[2].events = [
    event("preempted", 1, { count: 6 }),
    event("evicted", 0, { count: 2 }),
    event("copied", 0),
    { ...event("joined", 1, { count: 7 }), ms: 39 },
    event("refused", 2, { count: 9 }),
  ];
  assert.deepEqual(told(whatHappened(rare, REQUESTS, tallyOf(rare, REQUESTS), null)).slice(0, 5), [
    "39: B joins again 4 ms after it had to make room: 7 tokens are to be in the cache again.",
    "35: C is refused: it might need 9 blocks, and there are 6.",
    "35: A gets a copy of a block it shared, to write to it (copy-on-write).",
    "35: A’s 2 kept blocks are needed: what they held is forgotten.",
    "35: B has to make room: too few blocks are free. It waits again, and 6 rows of its will be computed once more.",
  ]);
  assert.deepEqual([...setBackBefore(tallyOf(rare, REQUESTS), 1)], []);
  assert.deepEqual([...setBackBefore(tallyOf(rare, REQUESTS), 2)], [1]);
  const again = REQUESTS.map((request, at) => (at === 1 ? { ...request, retry_of: 0 } : request));
  const joins = told(whatHappened(round, again, tallyOf(round, again), null)).find((line) => line.startsWith("10: B"));
  assert.match(
    joins,
    /^10: B asks again what A gave up after 2 ms: 4 of 6 tokens.* only 2 are to be read. They are read once more/,
  );
});

test("a round that is over is summed up, and each request says how it stands", () => {
  assert.equal(howItWent(round, REQUESTS, answers), "2 of 3 are done: 5 tokens in 40 ms, 125.0 a second.");
  const at = (pass) => REQUESTS.map((_, request) => standing(pass.requests[request], answers[request], pass));
  assert.deepEqual(at(round.passes[0]), ["1 token so far", "waits", "has not asked yet"]);
  assert.deepEqual(at(round.passes[2]), ["done, 3 tokens", "done, 2 tokens", "gave up after 0 tokens"]);
});
