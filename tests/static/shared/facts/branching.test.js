import assert from "node:assert/strict";
import { test } from "node:test";
import {
  branchRefusal,
  branchStep,
  canContinue,
  chosenPosition,
  continues,
  sharedBlocks,
} from "../../../../kvscope/static/shared/facts/branching.js";

const step = (id, table, refcounts) => ({ data: { token: { id }, kv: { block_table: table, refcounts } } });

/** A run with a prompt of 5 tokens and blocks of 4, branched at position 6, that is, at its step 1. */
const PARENT = { run: "p", position: 6, token: 9, recomputed: { rows: 0, ms: 0, held: true } };
const branch = (steps, parent = PARENT) => ({
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

test("a block is shared if it is the parent's and more than one sequence holds it", () => {
  const before = [step(7, [3, 4], [1, 1]), step(9, [3, 4], [1, 1])];
  const shared = (table, refcounts) => sharedBlocks(branch([...before, step(1, table, refcounts)]));
  const known = { blocks: 2, positions: 6, whole: 1, blockSize: 4 };
  assert.deepEqual(shared([3, 8], [2, 1]), { shared: 1, elsewhere: 0, ...known });
  assert.equal(shared([3, 8], [1, 1]).shared, 0, "the same number, but nobody else holds it");
  assert.deepEqual([shared([5, 8], [2, 1]).shared, shared([5, 8], [2, 1]).elsewhere], [0, 1]);
});

test("sharing is unknown before the branch's first own step", () => {
  assert.equal(sharedBlocks(branch([step(7, [3], [1]), step(9, [3], [1])])), null);
  assert.equal(sharedBlocks(branch([step(7, [3], [1])], null)), null);
});

/** A run whose engine was lost after it had generated one token. */
const broken = (changes = {}) => ({
  close: { reason: "interrupted" },
  steps: [{ data: { token: { id: 5 } } }],
  promptLength: 3,
  saved: null,
  open: { model: { eos: [0] }, limits: { max_new_tokens: 4 }, study: null, parent: null },
  ...changes,
});

test("a run that was interrupted by its engine can be continued if it has tokens left to generate", () => {
  assert.equal(canContinue(broken()), true);
  assert.equal(canContinue(broken({ close: { reason: "stopped" } })), false);
  assert.equal(canContinue(broken({ steps: [] })), false);
  assert.equal(canContinue(broken({ steps: [{ data: { token: { id: 0 } } }] })), false);
  assert.equal(canContinue(broken({ saved: {} })), false);
  assert.equal(canContinue(broken({ open: { ...broken().open, limits: { max_new_tokens: 1 } } })), false);
});

test("a branch that forces no token continues its parent", () => {
  const parent = { run: "a", position: 3, token: 5, recomputed: { rows: 3, ms: 1, held: false } };
  const open = { ...broken().open, parent };
  assert.equal(continues(broken({ open })), true);
  assert.equal(continues(broken({ open, steps: [{ data: { token: { id: 5, forced: true } } }] })), false);
  assert.equal(continues(broken()), false);
});

test("a block of another engine with the same number is not the parent's", () => {
  const steps = [step(1, [3], [2]), step(9, [3, 4], [2, 1]), step(4, [3, 5], [2, 1])];
  const there = branch(steps, { ...PARENT, recomputed: { rows: 6, ms: 1, held: false } });
  const { shared, elsewhere } = sharedBlocks(there);
  assert.deepEqual([sharedBlocks(branch(steps)).shared, shared, elsewhere], [1, 0, 1]);
});
