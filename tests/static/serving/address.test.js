import assert from "node:assert/strict";
import { test } from "node:test";
import { experimentOfSearch, hashOf, passOfHash, searchOf } from "../../../kvscope/static/serving/address.js";
import { initialState, reduce } from "../../../kvscope/static/serving/state.js";

const RESTING = reduce(
  { ...initialState, log: { passes: [{ ms: 1 }, { ms: 1 }, { ms: 1 }], close: null } },
  { type: "go", to: 2 },
);

test("an address names a pass, and none while the newest is followed", () => {
  assert.equal(passOfHash("#pass=12"), 12);
  assert.deepEqual(["", "#pass=", "#pass=-1", "#pass=1e3", "#step=1"].map(passOfHash), [null, null, null, null, null]);
  assert.deepEqual([hashOf({ ...RESTING, mode: "following" }), hashOf(RESTING)], ["", "#pass=2"]);
});

test("an address names a workload and an experiment, and keeps what else it has", () => {
  const named = searchOf({ run: "a b", experiment: "retry" }, "?present=1");
  assert.equal(named, "?present=1&run=a+b&experiment=retry");
  assert.equal(experimentOfSearch(named), "retry");
  assert.equal(searchOf({ run: null, experiment: null }, named), "?present=1");
  assert.equal(searchOf(initialState, ""), "");
  assert.deepEqual(["", "?experiment="].map(experimentOfSearch), [null, null]);
});

test("the state has the experiment that the address names", () => {
  const opened = reduce(initialState, { type: "experiment", experiment: "retry" });
  assert.equal(opened.experiment, "retry");
  assert.equal(reduce(opened, { type: "open", run: "b", pass: null }).experiment, "retry", "also for another workload");
});
