import assert from "node:assert/strict";
import { test } from "node:test";
import { toCsv } from "../../../../kvscope/static/stage/save-panel/actions.js";
import {
  cacheTable,
  candidatesTable,
  lensTable,
  mapTable,
  matrixTable,
  pairTable,
  tensorsTable,
  timeTable,
} from "../../../../kvscope/static/stage/save-panel/tables.js";
import { madeRun } from "../../support/made-run.js";
import { token } from "../../support/wire.js";

const run = madeRun({
  words: ["The", " cat", ', "a"', "\n"],
  promptLength: 3,
  row: (layer, head, query) => Array.from({ length: query + 1 }, (_, key) => 10 * query + key + layer + head),
});

const column = ({ header, rows }, name) => rows.map((row) => row[header.indexOf(name)]);

test("fields with separators, quotes and line ends are quoted; nothing is left of null", () => {
  const text = toCsv({
    header: ["a", "b"],
    rows: [
      [1.5, "x,y"],
      [null, 'say "no"\n'],
    ],
  });
  assert.equal(text, 'a,b\r\n1.5,"x,y"\r\n,"say ""no""\n"\r\n');
});

test("text that a spreadsheet would take for a formula is made plain; numbers keep their sign", () => {
  const rows = Object.entries({ "=1+1": -2, "@x": -0.5, "+1": 0, "-1": 0, "\tx": 0 });
  assert.equal(toCsv({ header: ["t", "n"], rows }), "t,n\r\n'=1+1,-2\r\n'@x,-0.5\r\n'+1,0\r\n'-1,0\r\n'\tx,0\r\n");
});

test("a row of another length than the header is refused", () => {
  assert.throws(() => toCsv({ header: ["a"], rows: [[1, 2]] }), RangeError);
});

test("the map's table has a line per layer and position in sight", () => {
  const table = mapTable(run, 0);
  assert.equal(table.rows.length, 2 * 3);
  assert.deepEqual(table.rows.at(-1).slice(0, 4), [1, 2, ',·"a"', run.residualNorm(1, 2)]);
  assert.deepEqual(column(table, "v_length_1")[0], run.vNorm(0, 1, 0));
});

test("the matrix has the run's weights, and nothing where the mask forbids", () => {
  const { header, rows } = matrixTable(run, 1, { layer: 1, head: 2 });
  assert.deepEqual(header, ["query", "token", "0 The", "1 ·cat", '2 ,·"a"', "3 ⏎"]);
  assert.deepEqual(rows[1], [1, "·cat", run.weight(1, 2, 1, 0), run.weight(1, 2, 1, 1), null, null]);
});

test("candidates carry logit, probabilities and what cut them", () => {
  const tokens = [" a", " b"].map((text, id) => token(text, id + 5));
  const step = {
    topIds: Int32Array.of(5, 6, 7),
    topLogits: Float32Array.of(3, 2, 1),
    tailCounts: new Int32Array(4),
    data: { token: tokens[1], top_tokens: tokens, tail: { low: 0, high: 0, count: 0 } },
  };
  const settings = { strategy: "sample", temperature: 1, top_k: 2, top_p: 1 };
  const table = candidatesTable({ steps: [step] }, 0, settings);
  assert.deepEqual(column(table, "cut_by"), [null, null, "top-k"]);
  assert.deepEqual(column(table, "token"), ["·a", "·b", null]);
  assert.deepEqual(column(table, "chosen"), [0, 1, 0]);
  assert.ok(Math.abs(column(table, "probability_after_filters")[0] - 1 / (1 + Math.exp(-1))) < 1e-12);
});

test("bytes and times are those of the steps", () => {
  assert.deepEqual(
    column(cacheTable(run), "bytes_used"),
    run.steps.map(({ data }) => data.kv.bytes_used),
  );
  assert.deepEqual(column(cacheTable(run), "token_fed"), [null, "⏎"]);
  assert.deepEqual(column(timeTable(run), "total_ms"), [10, 11]);
});

test("tensors are told number by number, a dot product dimension by dimension", () => {
  const matrix = { shape: [2, 2], data: Float32Array.of(1, 2, 3, 4) };
  assert.deepEqual(tensorsTable({ q: matrix }).rows.at(-1), ["q", "1 1", 4]);
  assert.deepEqual(pairTable({ q: matrix, k: matrix }, 1, 0).rows, [
    [0, 3, 1, 3],
    [1, 4, 2, 8],
  ]);
  const layers = [{ layer: 0, top: [{ ...token(" a"), prob: 0.5 }] }];
  assert.deepEqual(lensTable({ layers }).rows, [[0, 0, "·a", 0.5]]);
});
