import assert from "node:assert/strict";
import { test } from "node:test";
import {
  blocksForAll,
  blocksOf,
  drawnBlocks,
  lastCopy,
  rangesOf,
  reservedWaste,
  sharedBlocks,
  wasteOf,
  wasteOver,
} from "../../../kvscope/static/serving/blocks.js";
import { cellsOf, tableOf } from "../../../kvscope/static/serving/pool-geometry.js";
import { tallyOf } from "../../../kvscope/static/serving/tally.js";
import { BLOCK_SIZE, folded, REQUESTS } from "./made.js";

const round = folded().rounds[0];
const { touched } = tallyOf(round, REQUESTS);
const copyOf = (of, number) => lastCopy(of, tallyOf(of, REQUESTS).events, number, BLOCK_SIZE);

test("a block knows whose it is, how full, and what the pass wrote", () => {
  const cells = blocksOf(round.passes[1], BLOCK_SIZE);
  const plain = { cachedOf: [], evictedAs: null, hit: false, others: false };
  assert.deepEqual(cells.get(0), { ...plain, id: 0, owners: [0, 1], hit: true, filled: 4, written: 0 });
  assert.deepEqual(cells.get(1), { ...plain, id: 1, owners: [0], filled: 2, written: 1 });
  assert.deepEqual(cells.get(2), { ...plain, id: 2, owners: [1], filled: 2, written: 2 });
  assert.equal(cells.get(9).others, true);
  const after = blocksOf(round.passes[2], BLOCK_SIZE);
  assert.deepEqual([after.get(0).owners, after.get(0).cachedOf], [[], [0, 1]]);
});

test("drawn are the blocks that were touched, and free ones up to what may be held", () => {
  assert.deepEqual(drawnBlocks(round, round.passes[0], touched), [0, 1, 2, 3, 4, 5]);
  const few = { ...round, settings: { ...round.settings, blocks: 2 } };
  assert.deepEqual(drawnBlocks(few, round.passes[0], touched), [0, 1, 2], "what was touched is never left out");
  const all = { ...round, settings: { ...round.settings, blocks: 256 } };
  assert.equal(drawnBlocks(all, round.passes[0], touched).includes(9), false, "another run holds it");
  assert.equal(drawnBlocks(all, round.passes[0], touched).length, 15);
});

test("waste is the room of held blocks that nothing is in, beside what reserving would hold", () => {
  assert.deepEqual(wasteOf(round.passes[1], BLOCK_SIZE), { held: 3, room: 12, filled: 8, share: 1 - 8 / 12 });
  assert.equal(blocksForAll(REQUESTS[0], BLOCK_SIZE), 2, "5 tokens and 3 more, of which the last is never fed");
  const reserved = reservedWaste(round.passes[1], REQUESTS, BLOCK_SIZE);
  assert.deepEqual(reserved, { held: 4, room: 16, filled: 12, share: 0.25 });
  assert.equal(wasteOf(round.passes[2], BLOCK_SIZE), null, "no request is running");
  assert.equal(reservedWaste(round.passes[2], REQUESTS, BLOCK_SIZE), null);
});

test("over a round waste is the mean of its passes, each as long as it took, and the worst of them", () => {
  const { share, unfilled, worst } = wasteOver(round, BLOCK_SIZE);
  assert.ok(Math.abs(share - (10 * (3 / 8) + 20 * (1 / 3)) / 30) < 1e-12);
  assert.equal(unfilled, (10 * 3 + 20 * 4) / 30);
  assert.deepEqual(worst, { held: 2, room: 8, filled: 5, share: 3 / 8 });
  assert.equal(wasteOver({ passes: [round.passes[2]] }, BLOCK_SIZE), null);
});

test("the blocks that most requests share are named as ranges", () => {
  assert.deepEqual(sharedBlocks(blocksOf(round.passes[1], BLOCK_SIZE)), { ids: [0], requests: 2 });
  assert.equal(sharedBlocks(blocksOf(round.passes[0], BLOCK_SIZE)), null);
  assert.equal(rangesOf([3, 0, 1, 2, 7, 9, 10]), "0–3, 7 and 9–10");
  assert.equal(rangesOf([4]), "4");
});

test("a copy is found in the table of who wrote, also where it has just joined", () => {
  assert.equal(copyOf(round, 2), null);
  const copied = { ms: 12, what: "copied", request: 0, count: null, other: null };
  const later = structuredClone(round);
  later.passes[1].events.push(copied);
  later.passes[1].requests[0].table = [0, 7];
  assert.deepEqual(copyOf(later, 2), { request: 0, from: 1, to: 7 });
  assert.equal(copyOf(later, 0), null, "it had not happened yet");
  const joining = structuredClone(round);
  const { events, requests } = joining.passes[1];
  events.find(({ what }) => what === "shared").count = 5;
  events.push({ ...copied, request: 1 });
  requests[1].table = [0, 3];
  assert.deepEqual(copyOf(joining, 1), { request: 1, from: 1, to: 3 });
});

test("cells fill the width, smaller ones where there are many, and no table makes them move", () => {
  const few = cellsOf(96, 320);
  assert.ok(few.at(11).x + few.size <= 320 && few.at(12).y > few.at(0).y);
  assert.ok(cellsOf(256, 320).size < few.size);
  const table = tableOf(13, 320);
  assert.ok(table.height > tableOf(12, 320).height);
  assert.equal(tableOf(0, 320).height, tableOf(12, 320).height);
  assert.ok(table.at(12).y > table.at(11).y);
});
