import assert from "node:assert/strict";
import { test } from "node:test";
import { bodyOf, EXPERIMENTS, experimentOf, resultOf, roundName } from "../../../static/serving/experiments.js";
import { folded, framesOf, REQUESTS, SETTINGS } from "./made.js";

const POSTED = { system: "s", requests: REQUESTS.map(({ tokens: _, ...request }) => request), settings: SETTINGS };
const named = (id) => EXPERIMENTS.find((experiment) => experiment.id === id);

test("an experiment asks the same in rounds that differ in its one setting, and is known by that", () => {
  for (const experiment of EXPERIMENTS) {
    const { requests, rounds } = bodyOf(experiment, POSTED);
    assert.equal(
      requests.length,
      experiment.id === "draft" ? 4 : 3,
      "three prompts ask for a repetition, one does not",
    );
    assert.ok(requests.every(({ prompt, max_new_tokens }) => prompt && max_new_tokens > 0));
    assert.deepEqual(
      rounds.map((round) => round[experiment.setting]),
      experiment.values.map(({ value }) => value),
    );
    assert.equal(experimentOf(rounds), experiment);
    assert.ok(rounds.length <= 5);
  }
  assert.equal(experimentOf([SETTINGS]), null);
  assert.equal(experimentOf([SETTINGS, { ...SETTINGS, chunk: 1, at_once: 1 }]), null);
});

test("rounds are called by what differs", () => {
  const { rounds } = bodyOf(named("at-once"), POSTED);
  assert.deepEqual([roundName(rounds, 0), roundName(rounds, 3)], ["1 at once", "8 at once"]);
  assert.equal(roundName([SETTINGS, { ...SETTINGS, chunk: 7 }], 1), "chunk 7");
  assert.equal(roundName([SETTINGS, { ...SETTINGS, chunk: 7, at_once: 1 }], 1), "at once 1, chunk 7");
  assert.equal(roundName([SETTINGS], 0), "round 1");
});

test("little memory has room for the three longest, and all come at once where the number is the question", () => {
  const { rounds } = bodyOf(named("reserve"), POSTED);
  assert.ok(rounds[0].blocks > 0 && rounds[0].blocks === rounds[1].blocks);
  assert.ok(
    bodyOf(named("at-once"), POSTED).requests.every(
      ({ arrives_ms, cancel_ms }) => arrives_ms === 0 && cancel_ms === null,
    ),
  );
});

test("a long prompt is put in between where there is none, and kept where there is", () => {
  const longest = ({ requests }) =>
    requests.map(({ prompt }) => prompt.length).indexOf(Math.max(...requests.map(({ prompt }) => prompt.length)));
  const made = bodyOf(named("chunk"), POSTED);
  assert.equal(longest(made), 1);
  assert.deepEqual(bodyOf(named("chunk"), { ...POSTED, requests: made.requests }).requests, made.requests);
});

test("a result is counted from the rounds that are over, texts from all of them", () => {
  const rounds = [
    { ...SETTINGS, batching: "static" },
    { ...SETTINGS, batching: "continuous" },
  ];
  const frames = framesOf(rounds);
  assert.deepEqual(resultOf(folded(frames.slice(0, 4))).rounds, []);
  const half = resultOf(folded(frames.slice(0, 5)));
  assert.deepEqual([half.rounds.length, half.of, half.text], [1, 2, null]);
  const whole = resultOf(folded(frames));
  assert.deepEqual(
    whole.rounds.map(({ name, values, others }) => [name, values, others]),
    [
      ["static", [125, 40, 16], 1],
      ["continuous", [62.5, 80, 32], 1],
    ],
  );
  assert.deepEqual(whole.text, { same: 2, of: 2, first: null });
  assert.equal(resultOf(folded()), null);
});

test("a figure that cannot be had is none", () => {
  const waits = named("chunk").figures[0];
  assert.equal(waits.name, "longest wait of other requests for a token while it is read");
  assert.equal(named("chunk").figures[1].name(REQUESTS), "first token of B");
  assert.equal(waits.of({ answers: [], round: { passes: [] }, requests: REQUESTS }), null);
});
