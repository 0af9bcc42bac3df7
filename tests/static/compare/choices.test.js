import assert from "node:assert/strict";
import { test } from "node:test";
import { familyChoices, ownChoices, pairsOf } from "../../../kvscope/static/compare/choices.js";
import { switchedOff } from "../../../kvscope/static/shared/facts/changes.js";
import { pluck } from "../support/lists.js";
import { token } from "../support/wire.js";

const HEAD = switchedOff("head", { layer: 16, head: 0 });
const OFF = "changed: head 0 of layer 16 switched off (zero)";
const changedFrom = (of, ...changes) => ({ of, changes });
const run = (id, more = {}) => ({
  ...{ id, prompt: `prompt ${id}`, model: { name: "m" }, steps: 4, study: null, changed: null },
  ...more,
});

test("a changed run stands below its original and names what is changed", () => {
  const own = [run("new"), run("changed", { changed: changedFrom("old", HEAD) }), run("other"), run("old")];
  const choices = ownChoices(own);
  assert.deepEqual(pluck(choices, "id"), ["new", "old", "changed", "other"]);
  assert.deepEqual(pluck(choices, "title"), ["prompt new", "prompt old", OFF, "prompt other"]);
  assert.deepEqual(pluck(choices, "below").map(Boolean), [false, false, true, false]);
});

test("a changed run whose original is not listed has its prompt and its changes", () => {
  const [{ title, about }] = ownChoices([run("changed", { changed: changedFrom("gone", HEAD) })]);
  assert.equal(title, "prompt changed");
  assert.match(about, new RegExp(`^${OFF.replace(/[()]/g, "\\$&")} · m · 4`));
});

test("changes of a changed run's branch are listed too, and workloads are not", () => {
  const own = [
    run("third", { changed: changedFrom("second", HEAD) }),
    run("second", { changed: changedFrom("first", HEAD) }),
    run("first"),
    run("workload", { study: { kind: "serving" } }),
  ];
  assert.deepEqual(pluck(ownChoices(own), "id"), ["first", "second", "third"]);
});

test("relatives of the other run are named by what makes them differ", () => {
  const member = (id, more) => ({ id, parent: null, study: null, changed: null, steps: 4, ...more });
  const runs = [
    member("root"),
    member("branch", { parent: { run: "root", position: 3, token: { id: 1, text: " a" } } }),
    member("off", { changed: changedFrom("root", switchedOff("token", { position: 0 })) }),
    member("twin", { study: { kind: "twin", cache: "none" } }),
    member("beam", { study: { kind: "beam" } }),
  ];
  assert.deepEqual(pluck(familyChoices({ runs }, [token("The")]), "title"), [
    "the first run",
    "branch with “a” at position 3",
    "changed: token “The” (position 0) switched off (zero)",
    "twin without a KV cache",
  ]);
});

test("recordings of the same prompt are offered as pairs with the first of them", () => {
  const [first, other, second, third] = ["x", "y", "x", "x"].map((prompt, at) => ({ id: `${at}`, title: "", prompt }));
  assert.deepEqual(pairsOf([first, other, second, third]), [
    { a: first, b: second },
    { a: first, b: third },
  ]);
});
