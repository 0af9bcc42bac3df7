import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { misprintOf, misprintsOf } from "../../../../kvscope/static/by-hand/misprints.js";
import { EXPERIMENTS } from "../../../../kvscope/static/serving/experiments.js";
import { FIGURES } from "../../../../kvscope/static/shared/figures/figures.js";
import { grouped } from "../../../../kvscope/static/shared/find/matching.js";
import { pluck } from "../../support/lists.js";

const WORDS = new URL("../../../../kvscope/static/shared/words/", import.meta.url);
const table = (name) => JSON.parse(readFileSync(new URL(`${name}.json`, WORDS), "utf8"));
const find = table("find");
const glossary = table("glossary");

test("each experiment is found under its name, and opens", () => {
  const found = find.setting.filter(({ address }) => address.includes("?experiment="));
  assert.deepEqual(
    Object.fromEntries(found.map(({ name, address }) => [address, name])),
    Object.fromEntries(EXPERIMENTS.map(({ id, name }) => [`/serving?experiment=${id}`, name])),
  );
});

test("every idea is there once, and every term has a place that shows it", () => {
  const ids = Array.from({ length: 45 }, (_, at) => `C${at + 1}`);
  assert.deepEqual(pluck(find.idea, "id"), ids);
  for (const [id, { show }] of Object.entries(glossary)) assert.ok(show, id);
});

test("groups are in the order of their best hits, and each has only its best", () => {
  const hits = ["b1", "a1", "b2", "a2", "b3"];
  const groups = grouped(hits, (hit) => hit[0], 2);
  assert.deepEqual(groups.flat(2), ["b", "b1", "b2", "a", "a1", "a2"]);
});

test("each printed figure of the examples is found", () => {
  const named = (words) => FIGURES.some(({ name, also }) => [name, ...also].some((each) => words.startsWith(each)));
  for (const figure of misprintsOf("b").map((cell) => misprintOf("b", cell).printed)) assert.ok(named(figure), figure);
});
