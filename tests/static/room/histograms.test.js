/** The histograms of a room outlive a reload of the tab, and no other room gets them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { createHistograms } from "../../../kvscope/static/room/histograms.js";

function storage() {
  const stored = new Map();
  return { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value) };
}

test("a reload keeps the questions whose answers were shown", () => {
  const tab = storage();
  const questions = [{ text: "How many?", rounds: [{ counts: { 3: 2 }, others: 0 }] }];
  createHistograms(tab, "K7QX2MPA").keep(questions);
  assert.deepEqual(createHistograms(tab, "K7QX2MPA").all(), questions);
  assert.deepEqual(createHistograms(tab, "AAAABBBB").all(), []);
});

test("what another version stored is ignored", () => {
  const tab = storage();
  tab.setItem("kvscope.room-answers", JSON.stringify([null, 3, { code: "K7QX2MPA" }]));
  assert.deepEqual(createHistograms(tab, "K7QX2MPA").all(), []);
});
