import assert from "node:assert/strict";
import { test } from "node:test";
import { branchRefusal, branchStep, chosenPosition, sharedBlocks } from "../../../../static/shared/facts/branching.js";

const step = (id, table, refcounts) => ({ data: { token: { id }, kv: { block_table: table, refcounts } } });

/** A run with a prompt of 5 tokens and blocks of 4, branched at position 6, that is, at its step 1. */
const branch = (steps, parent = { run: "p", position: 6, token: 9 }) => ({
  promptLength: 5,
  open: { block_size: 4, parent, model: { eos: [2] }, limits: { max_new_tokens: 3 } },
  steps,
});

test("a branch replaces the token after the step's newest row", () => {
  assert.equal(chosenPosition(branch([]), 0), 5);
  assert.equal(branchStep(branch([])), 1);
  assert.equal(branchStep(branch([], null)), null);
});

test("a branch that the engine would refuse is refused before a request", () => {
  const run = branch([step(7), step(8), step(9)]);
  assert.equal(branchRefusal(run, 0, { id: 8 }), null);
  assert.match(branchRefusal(run, 0, { id: 7 }), /already chose this token/);
  assert.match(branchRefusal(run, 0, { id: 2 }), /ends the text/);
  assert.match(branchRefusal(run, 2, { id: 8 }), /last of the 3 new tokens/);
  run.open.study = { kind: "twin", of: "p", cache: "none" };
  assert.match(branchRefusal(run, 0, { id: 8 }), /Branch that run/);
});

test("a block is shared when it is the parent's and more than one sequence holds it", () => {
  const before = [step(7, [3, 4], [1, 1]), step(9, [3, 4], [1, 1])];
  const shared = (table, refcounts) => sharedBlocks(branch([...before, step(1, table, refcounts)]));
  assert.deepEqual(shared([3, 8], [2, 1]), {
    shared: 1,
    elsewhere: 0,
    blocks: 2,
    positions: 6,
    whole: 1,
    blockSize: 4,
  });
  assert.equal(shared([3, 8], [1, 1]).shared, 0, "the same number, but nobody else holds it");
  assert.deepEqual([shared([5, 8], [2, 1]).shared, shared([5, 8], [2, 1]).elsewhere], [0, 1]);
});

test("nothing is said of sharing before the branch has made a step of its own", () => {
  assert.equal(sharedBlocks(branch([step(7, [3], [1]), step(9, [3], [1])])), null);
  assert.equal(sharedBlocks(branch([step(7, [3], [1])], null)), null);
});
