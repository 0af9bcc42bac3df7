import assert from "node:assert/strict";
import { test } from "node:test";
import { blockBytes, copied, lanesOfEngines } from "../../../kvscope/static/serving/engines.js";
import { foundShare, longestGap } from "../../../kvscope/static/serving/measures.js";
import { requestsBefore, whatItDid } from "../../../kvscope/static/serving/sentences.js";
import { answersOf, tallyOf } from "../../../kvscope/static/serving/tally.js";
import { folded } from "./made.js";
import { BLOCK_BYTES, BLOCK_SIZE, framesOn, MODEL } from "./on-engines.js";

const ENGINES = { count: 2, route: "least", prefill: 1 };
const log = folded(framesOn([{ engines: ENGINES }]));
const [round] = log.rounds;
const { requests } = log.study;
const answers = answersOf(round, requests);

test("each engine has its passes and rows, and the share of the time in which it computed", () => {
  const lanes = lanesOfEngines(round);
  assert.deepEqual(
    lanes.map(({ passes, rows, busy }) => [passes.length, rows, busy]),
    [
      [1, 9, 0.8],
      [2, 9, 0.34],
    ],
  );
  assert.deepEqual(lanesOfEngines({ passes: round.passes, settings: { engines: null } }), []);
});

test("what moved is summed, and a block has the bytes of the formula", () => {
  assert.deepEqual(copied(round, "moved"), { count: 2, bytes: 2 * BLOCK_BYTES, ms: 1.5 });
  assert.deepEqual(copied(round, "fetched"), { count: 0, bytes: 0, ms: 0 });
  assert.equal(blockBytes(MODEL, BLOCK_SIZE), BLOCK_BYTES);
});

test("the pass that continues a moved request says so, and not that it read a prompt or gave a first token", () => {
  const tally = tallyOf(round, requests);
  const moved = requestsBefore(tally, "moved", 2);
  assert.deepEqual([...moved], [0]);
  const did = whatItDid(round.passes[2], new Set(), moved).join(" ");
  assert.match(did, /A has come with its blocks; the pass computed 2 rows that they lack\. A got its next token\./);
  assert.equal(requestsBefore(tally, "moved", 1).size, 0);
});

test("a request that moves is one answer: its tokens, its rows, and the time between two tokens", () => {
  assert.deepEqual(
    answers.map(({ outputs, rows, end }) => [outputs.map(({ ms }) => ms), rows, end.what]),
    [
      [[40, 50], 11, "done"],
      [[20, 50], 7, "done"],
    ],
  );
  assert.equal(longestGap({ answers }), 30);
  assert.equal(longestGap({ answers: answers.map((each) => ({ ...each, outputs: [] })) }), null);
  assert.equal(foundShare({ answers, requests }), 8 / 15);
});
