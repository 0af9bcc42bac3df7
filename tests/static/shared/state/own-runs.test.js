import assert from "node:assert/strict";
import test from "node:test";
import { createOwnRuns } from "../../../../kvscope/static/shared/state/own-runs.js";

function device(kept = {}) {
  return { kept, getItem: (key) => kept[key] ?? null, setItem: (key, value) => Object.assign(kept, { [key]: value }) };
}

test("runs derived from a shipped recording are remembered, and runs derived from them", () => {
  const own = createOwnRuns(device(), ["shipped"]);
  own.add("shipped", "branch");
  own.add("branch", "twin");
  own.add("mine", "another");
  for (const run of ["shipped", "branch", "twin"]) assert.deepEqual(own.besides(run), ["branch", "twin"]);
  assert.deepEqual(own.besides("mine"), []);
});

test("runs that another tab derived are known too", () => {
  const storage = device();
  const here = createOwnRuns(storage, ["shipped"]);
  createOwnRuns(storage, ["shipped"]).add("shipped", "elsewhere");
  assert.deepEqual(here.besides("shipped"), ["elsewhere"]);
});

test("at most as many runs are remembered as the server accepts, the newest", () => {
  const own = createOwnRuns(device(), ["shipped"]);
  for (let i = 0; i < 70; i += 1) own.add("shipped", `run${i}`);
  const known = own.besides("shipped");
  assert.deepEqual([known.length, known[0], known.at(-1)], [64, "run6", "run69"]);
});

for (const kept of ["", "{", "7", "null", '{"a": 1}', "[1, null]"]) {
  test(`what is no list of ids is none: ${kept}`, () => {
    const own = createOwnRuns(device({ "kvscope.own-runs": kept }), ["shipped"]);
    assert.deepEqual(own.besides("shipped"), []);
    own.add("shipped", "branch");
    assert.deepEqual(own.besides("shipped"), ["branch"]);
  });
}
