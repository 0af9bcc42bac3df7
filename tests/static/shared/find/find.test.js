import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { misprintOf, misprintsOf } from "../../../../kvscope/static/by-hand/misprints.js";
import { misprints as loopMisprints } from "../../../../kvscope/static/learn/loop/misprints.js";
import { misprints as memoryMisprints } from "../../../../kvscope/static/memory/misprints.js";
import { EXPERIMENTS } from "../../../../kvscope/static/serving/experiments.js";
import { bytesShort } from "../../../../kvscope/static/shared/facts/format.js";
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

test("each wrong figure of the Memory page is found, with the right one and its model", () => {
  const models = JSON.parse(readFileSync(new URL("../../memory/models.json", WORDS), "utf8"));
  for (const { model, printed, right } of memoryMisprints(models)) {
    const entry = find.printed.find(({ name }) => name.startsWith(printed));
    assert.ok(entry?.address.startsWith(`/memory?model=${model}&`), printed);
    const figure = bytesShort(right.value).normalize("NFKC");
    assert.ok(entry.text.includes(figure), `${printed}: ${figure}`);
  }
});

test("each wrong figure of the loop and of the examples is found", () => {
  const named = (words) =>
    find.printed.some(({ name, also }) => [name, ...also].some((each) => words.startsWith(each)));
  const figures = [
    ...loopMisprints(512, 512).map(({ printed }) => printed),
    ...misprintsOf("b").map((cell) => misprintOf("b", cell).printed),
  ];
  for (const figure of figures) assert.ok(named(figure), figure);
});
