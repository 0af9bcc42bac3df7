import assert from "node:assert/strict";
import { test } from "node:test";
import { shelfOf } from "../../../../kvscope/static/stage/kv-cache/shelf-columns.js";
import { madeRun } from "../../support/made-run.js";

const run = madeRun({ words: ["a", "b", "c", "d", "e"], promptLength: 3, layers: 4 });

/** No layer is local, so all hold every position. */
const ALL = { dropped: 0, still: 1 };
const PREFILL = { ...ALL, cached: 0, fresh: 3, room: 4, share: 1 };
const DECODE = { ...ALL, cached: 4, fresh: 1, room: 8, share: 1 };

test("positions that local layers dropped are held by the share of layers that are global", () => {
  const words = Array.from({ length: 20 }, (_, position) => `w${position}`);
  const local = madeRun({ words, promptLength: 12, layers: 4, windows: [8, 8, 8, null] });
  // Step 8 computes position 19, which reads 12 to 19 in local layers: blocks of 4 positions, 3 of them dropped.
  assert.deepEqual(shelfOf({ run: local, step: 8, settled: 8, reveal: 4 }), {
    ...{ cached: 19, fresh: 1, room: 20, share: 1 },
    ...{ dropped: 12, still: 1 / 4 },
  });
});

test("the prompt is written by prefill, later positions are cached and one is written", () => {
  assert.deepEqual(shelfOf({ run, step: 0, settled: 0, reveal: 4 }), PREFILL);
  assert.deepEqual(shelfOf({ run, step: 2, settled: 2, reveal: 4 }), DECODE);
});

test("no more columns are drawn than there are positions, whatever the step says", () => {
  const { data, ...rest } = run.steps[2];
  const kv = { ...data.kv, positions: 2 ** 53, blocks: 2 ** 53 };
  const claiming = { ...run, steps: [...run.steps.slice(0, 2), { ...rest, data: { ...data, kv } }] };
  assert.deepEqual(shelfOf({ run: claiming, step: 2, settled: 2, reveal: 4 }), DECODE);
});

test("a step on its way has written as many layers as it has finished, and nothing before its first", () => {
  assert.equal(shelfOf({ run, step: 1, settled: 0, reveal: 0.9 }).share, 0);
  assert.equal(shelfOf({ run, step: 1, settled: 0, reveal: 2.5 }).share, 0.5);
});

test("while the prompt is awaited its rows so far are shown", () => {
  const awaited = { ...run, steps: [], partialRows: 1 };
  assert.deepEqual(shelfOf({ run: awaited, step: 0, settled: 0, reveal: 0 }), { ...PREFILL, share: 1 / 3 });
});
