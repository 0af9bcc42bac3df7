import assert from "node:assert/strict";
import { test } from "node:test";
import {
  addRows,
  emptyTally,
  followersOf,
  headsWorthSeeing,
  strongestOn,
} from "../../../../kvscope/static/stage/look-here/heads-worth-seeing.js";
import { madeRun } from "../../support/made-run.js";
import { token } from "../../support/wire.js";

const WORDS = ["one", " two", " three", " four", ",", " two", " six", " seven"];

/** Every head spreads thin but for what `special` says of its row. */
function runWith(special, words = WORDS) {
  const run = madeRun({
    words,
    promptLength: 4,
    layers: 2,
    heads: 2,
    kvHeads: 1,
    row: (layer, head, query) => {
      const row = new Array(query + 1).fill(20);
      special(layer * 2 + head, row, query);
      return row;
    },
  });
  run.tokens = words.map((word) => token(word, words.indexOf(word)));
  return run;
}

function measured(run, positions = run.positions) {
  const tally = emptyTally(run);
  for (const _ of addRows(tally, run, positions));
  return tally;
}

const four = runWith((at, row, query) => {
  if (at === 0 && query >= 1) row[0] = 250;
  if (at === 1 && query >= 2) row[query - 1] = 240;
  if (at === 2 && query === 5) row[2] = 230;
  if (at === 3 && query === 7) row[3] = 220;
});

test("each measurement finds the head that does it, with its share", () => {
  const items = headsWorthSeeing(measured(four), four);
  const found = items.map(({ kind, layer, head, query, key }) => `${kind} ${layer}.${head}: ${query} → ${key}`);
  assert.deepEqual(found, [
    "first 0.0: null → null",
    "before 0.1: null → null",
    "repeat 1.0: 5 → 2",
    "link 1.0: 5 → 2",
  ]);
  for (const [at, shade] of [250, 240, 230, 230].entries()) {
    assert.ok(Math.abs(items[at].share - (shade / 255) ** 2) < 1e-12, items[at].kind);
  }
  assert.match(items[1].sentence, /Layer 0, head 1 .*the token just before, averaged over 6 queries.*all 4 heads/);
});

test("a link is between two words apart: not the first token, not punctuation, not a neighbour", () => {
  const run = runWith((at, row, query) => {
    if (at === 0 && query === 6) row[4] = 255;
    if (at === 1 && query === 7) row[0] = row[6] = row[7] = 255;
    if (at === 2 && query === 4) row[2] = 255;
    if (at === 3 && query === 7) row[3] = 200;
  });
  const link = headsWorthSeeing(measured(run), run).find(({ kind }) => kind === "link");
  assert.deepEqual([link.layer, link.head, link.query, link.key], [1, 1, 7, 3]);
  assert.equal(link.title, "“seven” → “four”");
});

test("what followed an earlier token is neither the query nor its neighbour", () => {
  const ids = (...list) => list.map((id) => ({ id }));
  assert.deepEqual(followersOf(ids(1, 2, 3, 1, 1, 2), 6), [null, null, null, 1, 1, 2]);
  assert.deepEqual(followersOf(ids(7, 7, 7, 7), 4), [null, null, null, 1]);
});

test("a share that is nothing to look at is left out, and so is a run of few tokens", () => {
  const flat = runWith(() => {});
  assert.deepEqual(headsWorthSeeing(measured(flat), flat), []);
  assert.deepEqual(headsWorthSeeing(measured(four, 3), four), []);
  assert.deepEqual(headsWorthSeeing(emptyTally(four), four), []);
});

test("rows added in parts, and parts broken off, count once", () => {
  const tally = emptyTally(four);
  for (const _ of addRows(tally, four, 5));
  const broken = addRows(tally, four, 7);
  broken.next();
  for (const _ of addRows(tally, four, four.positions));
  assert.deepEqual(headsWorthSeeing(tally, four), headsWorthSeeing(measured(four), four));
});

test("a pause comes after every head", () => {
  assert.equal([...addRows(emptyTally(four), four, four.positions)].length, 4);
});

test("for one cell, the head that gives it the most", () => {
  const item = strongestOn(four, 7, 3);
  assert.deepEqual([item.layer, item.head, item.share], [1, 1, (220 / 255) ** 2]);
  assert.equal(strongestOn(four, 3, 7), null);
  assert.equal(strongestOn(four, 99, 0), null);
});
