import assert from "node:assert/strict";
import { test } from "node:test";
import {
  chosenModel,
  memoryText,
  modelOfRun,
  nextReadiness,
  peculiarities,
  sizeText,
  stateText,
  unloadedModel,
} from "../../../../kvscope/static/stage/facts/models.js";

const offered = (name, more = {}) => ({
  ...{ name, state: "ready", message: "Ready", done: 0, total: 0, compiled: "", refusal: null, model: null },
  ...{ parameters: null, bytes: null, is_here: true, memory: 4e8, measured: false, licence: null, shows: "" },
  ...more,
});
const MODELS = [offered("one"), offered("two", { state: "unloaded", message: "two is not loaded." })];
const runOf = (name) => ({ open: { model: { name } } });
const plain = (text) => text.replaceAll("\u202f", " ");

test("the next run is computed by the chosen model, else by that of the shown run, else by the first", () => {
  const state = { models: MODELS, model: null, run: runOf("two") };
  assert.equal(chosenModel(state).name, "two");
  assert.equal(chosenModel({ ...state, model: "one" }).name, "one");
  assert.equal(chosenModel({ ...state, run: runOf("elsewhere") }).name, "one");
  assert.equal(modelOfRun({ ...state, model: "one" }).name, "two");
  assert.equal(chosenModel({ ...state, models: [] }), undefined);
});

test("the shown run misses its model only where the server has it and has not loaded it", () => {
  assert.equal(unloadedModel({ models: MODELS, run: runOf("two") }).name, "two");
  assert.equal(unloadedModel({ models: MODELS, run: runOf("one") }), null);
  assert.equal(unloadedModel({ models: MODELS, run: runOf("elsewhere") }), null);
  assert.equal(unloadedModel({ models: [], run: null }), null);
});

test("a server with one model says of the next run what it says of its model", () => {
  const readiness = { state: "fetching" };
  assert.equal(nextReadiness({ severalModels: false, readiness, models: [] }), readiness);
  const several = { severalModels: true, readiness, models: MODELS, model: "two", run: null };
  assert.equal(nextReadiness(several).state, "unloaded");
  assert.equal(nextReadiness({ ...several, models: [] }).state, "loading");
});

test("a model is described by what is known of it", () => {
  const known = offered("three", { parameters: 134_515_008, bytes: 98_362_432, licence: "Apache-2.0" });
  assert.equal(plain(sizeText(known)), "135 M parameters · 98.4 MB on disk · Apache-2.0");
  assert.match(plain(sizeText({ ...known, is_here: false })), /98\.4 MB to download/);
  assert.equal(sizeText(offered("hub")), "licence not stated here");
  assert.match(plain(memoryText({ ...known, state: "unloaded" })), /about 400 MB.*estimated/);
  assert.match(memoryText(known), /measured/);
  assert.deepEqual(
    ["ready", "failed", "unloaded", "loading"].map((state) => stateText(offered("x", { state }))),
    ["loaded", "could not be loaded", "not loaded", "loading"],
  );
  assert.equal(stateText(offered("x", { refusal: "No." })), "cannot be used");
});

test("what a model cannot show like others is told from its numbers", () => {
  const alike = { layers: 4, heads: 4, kv_heads: 4, windows: null, experts: null, positions: "rotary" };
  assert.deepEqual(peculiarities(alike), []);
  const odd = { ...alike, kv_heads: 1, windows: [512, null, 512, 512], experts: { count: 8, chosen: 2 } };
  const [windows, heads, experts, positions] = peculiarities({ ...odd, positions: "learned" });
  assert.match(windows, /^3 of 4 layers see the last 512 tokens alone/);
  assert.equal(heads, "4 query heads share 1 set of keys and values.");
  assert.match(experts, /2 of 8 experts/);
  assert.match(positions, /learned vectors/);
});
