/** The table of what lessons may name (static/embed/picture.json) is what the pages have. */

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { readSearch as readByHand } from "../../../kvscope/static/by-hand/address.js";
import { pageShows } from "../../../kvscope/static/embed/page-picture.js";
import { NO_INPUTS } from "../../../kvscope/static/learn/figures/fields.js";
import { FIRST } from "../../../kvscope/static/memory/address.js";
import { EXPERIMENTS } from "../../../kvscope/static/serving/experiments.js";
import { PROPERTIES } from "../../../kvscope/static/shared/state/location.js";
import { VIEWS } from "../../../kvscope/static/shared/state/views.js";
import { stageShows } from "../../../kvscope/static/stage/embed/stage-picture.js";
import { initialState } from "../../../kvscope/static/stage/state/store.js";
import { RANGES } from "../../../kvscope/static/stage/views/tokens/what-if-ranges.js";

const STATIC = new URL("../../../static/", import.meta.url);
const TABLE = JSON.parse(readFileSync(new URL("embed/picture.json", STATIC), "utf8"));
const pageOf = (path) => TABLE.find(({ paths }) => paths.includes(path));
const stage = pageOf("/");
const setBy = (page, place) =>
  Object.entries(page.state)
    .filter(([, field]) => field.in === place)
    .map(([name]) => name);

/** What the player itself reads, and no task asks for. */
const OF_THE_PLAYER = ["page", "address", "lit", "hover"];

test("the Stage reports each field of the table, and no other", () => {
  const run = { id: "r", open: { sampling: initialState.sampling, prompt: "a" }, steps: [{}], positions: 2 };
  const shown = stageShows({ ...initialState, run });
  const reported = Object.keys(stage.state).filter((name) => stage.state[name].reported !== false);
  assert.deepEqual(Object.keys(shown).sort(), [...reported, ...OF_THE_PLAYER].sort());
});

test("an address of the Stage sets the fields that it can", () => {
  assert.deepEqual(setBy(stage, "hash").sort(), Object.keys(PROPERTIES).sort());
  assert.deepEqual(Object.keys(stage.views).sort(), [...VIEWS].sort());
});

test("settings have the ranges of their sliders", () => {
  for (const [name, { least, most, step }] of Object.entries(RANGES)) {
    const { from, to, by } = stage.state[name];
    assert.deepEqual({ from, to, by }, { from: least, to: most, by: step }, name);
  }
});

test("other pages read the parameters of the table from their address", () => {
  const memory = setBy(pageOf("/memory"), "search");
  assert.deepEqual(memory.sort(), [...Object.keys(FIRST), "run", "session"].sort());
  const byHand = setBy(pageOf("/by-hand/a"), "search").filter(
    (name) => !["cell", "step", "predict", "focus"].includes(name),
  );
  const { inputs } = readByHand(`?${byHand.map((name) => `${name}=1`).join("&")}&other=1`);
  assert.deepEqual(Object.keys(inputs).sort(), byHand.sort());
  for (const id of ["reference", "formulas", "figures", "loop", "state", "words"]) {
    const code = readFileSync(new URL(`learn/${id}/page.js`, STATIC), "utf8");
    const inputs = id === "figures" ? Object.keys(NO_INPUTS) : [];
    const fields = [...code.match(/const FIRST = \{([^}]*)\};/)[1].matchAll(/(\w+): "/g)]
      .map(([, name]) => name)
      .concat(inputs);
    assert.deepEqual(setBy(pageOf(`/learn/${id}`), "search").sort(), fields.sort(), id);
  }
});

test("a page other than the Stage reports the parameters of its address", () => {
  const shown = pageShows({ pathname: "/serving", search: "?experiment=draft", hash: "#pass=8" });
  assert.deepEqual([shown.experiment, shown.pass], ["draft", 8]);
});

test("experiments are those of Serving", () => {
  const { state, parts } = pageOf("/serving");
  const ids = EXPERIMENTS.map(({ id }) => id).sort();
  assert.deepEqual([...state.experiment.of].sort(), ids);
  const named = parts.filter((name) => name.startsWith("experiment-")).map((name) => name.slice("experiment-".length));
  assert.deepEqual(named.sort(), ids);
});

/** Names that the code of a folder gives its elements, and names of tensors in it. */
function namesIn(folder) {
  const found = new Set();
  for (const file of readdirSync(new URL(folder, STATIC), { recursive: true })) {
    if (!file.endsWith(".js")) continue;
    const code = readFileSync(new URL(`${folder}${file}`, STATIC), "utf8");
    for (const [, names] of code.matchAll(/\b(?:data-names|names)="([^"$]+)"/g))
      for (const name of names.split(" ")) found.add(name);
    for (const [name] of code.matchAll(/"(?:(?:attn|mlp|cache)\.[a-z_]+|resid_[a-z]+)"/g)) found.add(name.slice(1, -1));
  }
  return found;
}

test("each part of the table is an element of its page, and each named element is a part", () => {
  const folders = { "/memory": "memory/", "/serving": "serving/" };
  for (const [path, folder] of Object.entries(folders)) {
    const parts = pageOf(path).parts.filter((name) => !name.startsWith("experiment-"));
    assert.deepEqual([...namesIn(folder)].sort(), [...parts].sort(), path);
  }
  for (const [view, { parts }] of Object.entries(stage.views)) {
    if (view === "intro") continue;
    const named = namesIn(`stage/views/${view}/`);
    // cache-why and its neighbours are made of their ids.
    const missing = parts.filter((name) => !named.has(name) && !/^cache-(why|step|memory|kept)$/.test(name));
    assert.deepEqual(missing, [], view);
    // Names of tensors are also in code that draws none of them.
    const stray = [...named].filter((name) => !parts.includes(name) && !/[._]/.test(name));
    assert.deepEqual(stray, [], view);
  }
});
