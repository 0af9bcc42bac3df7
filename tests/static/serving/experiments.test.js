import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, EXPERIMENTS, valuesOf } from "../../../kvscope/static/serving/experiments.js";
import { experimentOf } from "../../../kvscope/static/serving/results.js";
import { REQUESTS, SETTINGS } from "./made.js";

const POSTED = { system: "s", requests: REQUESTS.map(({ tokens: _, ...request }) => request), settings: SETTINGS };
const named = (id) => EXPERIMENTS.find((experiment) => experiment.id === id);

const LAYERS = 30;
const body = (experiment, posted = POSTED) => bodyOf(experiment, posted, LAYERS);

test("an experiment asks the same in rounds that differ in its one setting, and is known by that", () => {
  for (const experiment of EXPERIMENTS) {
    const { requests, rounds } = body(experiment);
    assert.ok(requests.every(({ prompt, max_new_tokens }) => prompt && max_new_tokens > 0));
    assert.deepEqual(
      rounds.map((round) => round[experiment.setting]),
      valuesOf(experiment, LAYERS).map(({ value }) => value),
    );
    assert.equal(experimentOf({ rounds, requests }), experiment);
    assert.ok(rounds.length <= 5 && rounds.length > 1 === !experiment.alone);
  }
  const one = (rounds) => experimentOf({ rounds, requests: REQUESTS });
  assert.equal(one([SETTINGS]), null);
  assert.equal(one([SETTINGS, { ...SETTINGS, chunk: 1, at_once: 1 }]), null);
});

test("each has an id of its own, for its address", () => {
  assert.equal(new Set(EXPERIMENTS.map(({ id }) => id)).size, EXPERIMENTS.length);
  assert.ok(EXPERIMENTS.every(({ id }) => /^[a-z-]+$/.test(id)));
});

test("little memory has room for the three longest, and all come at once where the number is the question", () => {
  const { rounds } = body(named("reserve"));
  assert.ok(rounds[0].blocks > 0 && rounds[0].blocks === rounds[1].blocks);
  assert.ok(
    body(named("at-once")).requests.every(({ arrives_ms, cancel_ms }) => arrives_ms === 0 && cancel_ms === null),
  );
});

test("a long prompt is put in between where there is none, and kept where there is", () => {
  const longest = ({ requests }) =>
    requests.map(({ prompt }) => prompt.length).indexOf(Math.max(...requests.map(({ prompt }) => prompt.length)));
  const made = body(named("chunk"));
  assert.equal(longest(made), 1);
  assert.deepEqual(body(named("chunk"), { ...POSTED, requests: made.requests }).requests, made.requests);
});

test("a figure that cannot be had is none", () => {
  const waits = named("chunk").figures[0];
  assert.equal(waits.name, "longest wait of other requests for a token while it is read");
  assert.equal(named("chunk").figures[1].name(REQUESTS), "first token of B");
  assert.equal(waits.of({ answers: [], round: { passes: [] }, requests: REQUESTS }), null);
});
