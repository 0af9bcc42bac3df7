import assert from "node:assert/strict";
import { test } from "node:test";
import { createService } from "../../../../kvscope/static/engine/runs/service.js";

const IDS = Array.from({ length: 40 }, (_, i) => i);

/** A service with so many blocks. The rows of a text are where `keep` says. */
function serviceOf(blocks) {
  const parts = { model: { positions: 16 * blocks, copyRows: () => {} }, info: {}, cost: {}, limits: {} };
  const service = createService(
    /** @type {any} */ ({ ...parts, tokenizer: {}, sampling: {}, editsOf: () => {}, onFrames: () => {}, now: () => 0 }),
  );
  const keep = (ids, key = "") =>
    service.withRows(ids.slice(0, 1), key, (table) => {
      service.cache.reach(table, ids.length);
      service.keepRows(ids, key, table);
    });
  /** How many rows of a text the cache has, at most all but the last. */
  const held = (ids, key = "") => service.withRows(ids, key, (_, count) => count);
  return { service, keep, held };
}

test("rows that were computed for a question serve the next one", () => {
  const { keep, held } = serviceOf(8);
  keep(IDS.slice(0, 30));
  assert.equal(held(IDS), 30);
  assert.equal(held(IDS.slice(0, 20)), 19);
  assert.equal(held([7, ...IDS]), 0);
});

test("rows of a changed run serve only runs with the same changes", () => {
  const { keep, held } = serviceOf(8);
  keep(IDS, "changed");
  assert.deepEqual([held(IDS), held(IDS, "changed"), held(IDS, "other")], [0, 39, 0]);
});

test("a run that repeats another from its prompt shares no rows, a branch does", () => {
  const { service, keep } = serviceOf(12);
  keep(IDS);
  const settings = { settings: {}, newTokens: 2, seq: 1 };
  assert.equal(service.resume({ run: "changed", ids: IDS, prompt: IDS.length, ...settings }).held, false);
  assert.equal(service.resume({ run: "branch", ids: IDS, prompt: IDS.length - 1, ...settings }).held, true);
});

test("a shorter text leaves the rows of a longer one that begins with it", () => {
  const { service, keep, held } = serviceOf(8);
  keep(IDS);
  keep(IDS.slice(0, 20));
  assert.equal(held(IDS), 39);
  keep([7, 8]);
  assert.equal(held(IDS), 0);
  assert.equal(service.cache.free(), 7);
});

test("a question that needs the blocks of an earlier one gets them", () => {
  const { service, keep, held } = serviceOf(4);
  keep(IDS);
  service.withRows([7], "", (table) => service.cache.reach(table, 60));
  assert.equal(held(IDS), 0);
  assert.equal(service.cache.free(), 4);
});
