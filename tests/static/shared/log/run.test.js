import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { assertEach, columns, pluck } from "../../support/lists.js";
import { cell, encode, smallRun } from "../../support/wire.js";

const frames = smallRun().map(decodeFrame);

function runAfter(count) {
  const run = new Run("r1");
  for (const frame of frames.slice(0, count)) run.push(frame);
  return run;
}

test("a run is built from its frames", () => {
  const run = runAfter(frames.length);
  assert.equal(run.steps.length, 3);
  assert.equal(run.positions, 5);
  assert.equal(run.promptLength, 3);
  assert.deepEqual(pluck(run.tokens, "text"), ["a", " b", " c", " d", " e", " f"]);
  assert.deepEqual(columns(run.steps, "firstQuery", "rows"), { firstQuery: [0, 3, 4], rows: [3, 1, 1] });
  assert.deepEqual([...run.steps[1].topIds], [7, 8]);
  assert.equal(run.close.reason, "length");
  assert.equal(run.nextSeq, 9);
});

test("a row is found in whichever frame of a step it came", () => {
  const run = runAfter(frames.length);
  for (const layer of [0, 1]) {
    for (const head of [0, 1]) {
      for (let query = 0; query < 5; query++) {
        const expected = Array.from({ length: query + 1 }, (_, key) => cell(layer, head, query, key));
        assert.deepEqual([...run.row(layer, head, query)], expected, `layer ${layer} head ${head} query ${query}`);
      }
    }
  }
});

test("a weight undoes the companding; masked and absent cells are null", () => {
  const run = runAfter(frames.length);
  assert.equal(run.weight(1, 0, 2, 1), (cell(1, 0, 2, 1) / 255) ** 2);
  assert.equal(run.weight(1, 0, 2, 3), null);
  assert.equal(run.weight(1, 0, 5, 0), null);
  assert.equal(run.weight(2, 0, 1, 0), null);
  assert.equal(run.weight(0, -1, 1, 0), null);
});

test("norms are found by layer, head and position", () => {
  const run = runAfter(frames.length);
  const bits = (i) => 1 + i / 1024;
  assert.equal(run.kNorm(0, 0, 1), bits(1));
  assert.equal(run.kNorm(1, 0, 1), bits(3));
  assert.equal(run.vNorm(1, 0, 2), bits(1));
  assert.equal(run.residualNorm(1, 0), bits(2));
  assert.equal(run.qNorm(0, 1, 1), bits(103));
  assert.equal(run.qNorm(1, 1, 2), bits(103));
  assert.equal(run.qNorm(1, 0, 4), bits(102));
  assert.equal(run.qNorm(0, 2, 1), null);
  assert.equal(run.qNorm(0, 0, 5), null);
  assert.equal(run.kNorm(0, 1, 1), null);
  assert.equal(run.residualNorm(0, 9), null);
});

test("experts are found by layer and position, and layers without them have none", () => {
  const run = new Run("r1");
  const chosen = {
    experts: ["I32", [2, 2, 2], [4, 0, 1, 2, -1, -1, -1, -1]],
    expert_shares: ["F16", [2, 2, 2], [0x3a00, 0x3400, 0x3800, 0x3800, 0, 0, 0, 0]],
  };
  const { tensors: added } = decodeFrame(encode({ kind: "layer", seq: 0, tensors: chosen }));
  for (const frame of frames) {
    const first = frame.kind === "layer" && frame.data.first_query === 0;
    run.push(first ? { ...frame, tensors: { ...frame.tensors, ...added } } : frame);
  }
  assert.deepEqual(run.experts(0, 0), [
    { expert: 4, share: 0.75 },
    { expert: 0, share: 0.25 },
  ]);
  assert.deepEqual(pluck(run.experts(0, 1), "expert"), [1, 2]);
  assert.deepEqual(run.experts(1, 1), []);
  assert.deepEqual(run.experts(0, 4), []);
});

test("a log from before lengths of Q were kept has none and is read all the same", () => {
  const run = new Run("r1");
  for (const frame of frames) {
    const { q_norm: _, ...tensors } = frame.tensors;
    run.push({ ...frame, tensors });
  }
  assert.equal(run.qNorm(0, 0, 1), null);
  assert.equal(run.kNorm(0, 0, 1), 1 + 1 / 1024);
});

test("nothing of a step is readable before its step frame, except the number of rows", () => {
  const partial = runAfter(2);
  assert.equal(partial.partialRows, 2);
  assert.equal(partial.row(0, 0, 0), null);
  assert.equal(partial.positions, 0);
  assert.equal(runAfter(3).partialRows, 3);
  const whole = runAfter(4);
  assert.equal(whole.partialRows, 0);
  assert.equal(whole.row(0, 0, 2).length, 3);
});

test("an interrupted run drops the rows of its incomplete step", () => {
  const run = runAfter(5);
  run.push(decodeFrame(encode({ kind: "close", seq: 5, data: { reason: "interrupted", error: null, steps: 1 } })));
  assert.equal(run.steps.length, 1);
  assert.equal(run.row(0, 0, 3), null);
  assert.equal(run.partialRows, 0);
});

test("a frame out of order, of another run or of an unknown kind is refused and changes nothing", () => {
  const run = runAfter(2);
  assert.throws(() => run.push(frames[3]), RangeError);
  assert.throws(() => run.push(frames[1]), RangeError);
  assert.throws(() => run.push({ ...frames[2], run: "r2" }), RangeError);
  assert.throws(() => run.push({ ...frames[2], kind: "other" }), RangeError);
  assert.equal(run.nextSeq, 2);
});

test("steps and positions map to each other", () => {
  const run = runAfter(frames.length);
  assertEach([0, 1, 2, 3, 4], (query) => run.stepOfQuery(query), [0, 0, 0, 1, 2]);
  assertEach([0, 1, 2], (step) => run.lastQueryOfStep(step), [2, 3, 4]);
});
