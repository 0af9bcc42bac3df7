import assert from "node:assert/strict";
import { test } from "node:test";
import { STREAMING } from "../../../kvscope/static/serving/streaming.js";

const output = (ms, pass) => ({ ms, pass, token: {} });
const ANSWER = { arrived: 10, outputs: [output(110, 0), output(130, 1), output(190, 2)] };
const valuesOf = (received) => STREAMING.figures.map(({ of }) => of({ answers: [ANSWER], received }));

test("the wait for the whole answer and the times between tokens are those of the round and of the page", () => {
  assert.deepEqual(valuesOf([1000, 1025, 1080]), [100, 180, 40, 60, 40, 55]);
});

test("a log that was read from the store has no times of the page", () => {
  assert.deepEqual(valuesOf([1000, 1001, 1002]).slice(4), [null, null]);
  assert.deepEqual(valuesOf(undefined).slice(4), [null, null]);
});

test("an answer of one token has nothing to stream", () => {
  const short = { ...ANSWER, outputs: ANSWER.outputs.slice(0, 1) };
  assert.match(STREAMING.conclusion({ answers: [short] }), /nothing to stream/);
  assert.match(STREAMING.conclusion({ answers: [ANSWER] }), /first token after 100.ms.*nothing for 180.ms/u);
});
