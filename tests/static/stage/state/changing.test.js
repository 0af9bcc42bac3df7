import assert from "node:assert/strict";
import { test } from "node:test";
import { switchedOff } from "../../../../kvscope/static/shared/facts/changes.js";
import { decodeFrame } from "../../../../kvscope/static/shared/log/frames.js";
import { Run } from "../../../../kvscope/static/shared/log/run.js";
import { changingFor } from "../../../../kvscope/static/stage/state/changing.js";
import { createStore, reduce } from "../../../../kvscope/static/stage/state/store.js";
import { smallRun } from "../../support/wire.js";

const HEAD = switchedOff("head", { layer: 1, head: 0 });
const MLP = switchedOff("mlp", { layer: 0 });

function opened(open = {}) {
  const run = new Run("r1");
  const store = createStore();
  store.dispatch({ type: "opened", run, playing: false });
  for (const payload of smallRun()) run.push(decodeFrame(payload));
  Object.assign(run.open, open);
  store.dispatch({ type: "grew" });
  return store.state();
}

const after = (state, ...actions) => actions.reduce(reduce, state);
const add = (change) => ({ type: "addChange", change });

test("changes are added, edited and removed, and each of it can be undone", () => {
  const half = { ...HEAD, op: "scale", factor: 0.5 };
  let state = after(opened(), add(HEAD), add(MLP), { type: "setChange", index: 0, change: half });
  state = after(state, { type: "removeChange", index: 1 });
  const lists = [state.changing.changes];
  while (state.changing.past.length) {
    state = after(state, { type: "undoChange" });
    lists.push(state.changing.changes);
  }
  assert.deepEqual(lists, [[half], [half, MLP], [HEAD, MLP], [HEAD], []]);
  assert.deepEqual(after(state, { type: "undoChange" }).changing.changes, []);
});

test("one drag of a slider is undone at once, and what came before it is not", () => {
  const scaled = (factor) => ({
    type: "setChange",
    index: 0,
    change: { ...HEAD, op: "scale", factor },
    edited: "factor",
  });
  let state = after(opened(), add(HEAD), scaled(0.1), scaled(0.2), scaled(0.3), { type: "undoChange" });
  assert.deepEqual(state.changing.changes, [HEAD]);
  state = after(state, scaled(0.4), { type: "undoChange" });
  assert.deepEqual(state.changing.changes, [HEAD], "an edit after an undo is one of its own");
});

test("the same change is not added twice, and opens the panel", () => {
  const state = after(opened(), add(HEAD), { type: "changingClosed" }, add({ ...HEAD }));
  assert.deepEqual([state.changing.changes, state.changing.open], [[HEAD], true]);
});

test("a list whose panel was closed is there for the next change, and can be left for it", () => {
  const closed = after(opened(), add(HEAD), { type: "changingClosed" });
  assert.equal(after(opened(), add(HEAD), add(MLP)).changing.resumed, false);
  const resumed = after(closed, add(MLP));
  assert.deepEqual([resumed.changing.changes, resumed.changing.resumed], [[HEAD, MLP], true]);
  const kept = after(resumed, { type: "keepLastChange" });
  assert.deepEqual([kept.changing.changes, kept.changing.resumed], [[MLP], false]);
  assert.deepEqual(after(kept, { type: "undoChange" }).changing.changes, [HEAD, MLP]);
});

test("the list of a changed run begins with its own changes, over its original", () => {
  const state = after(opened({ changed: { of: "r0", changes: [HEAD] } }), add(MLP));
  assert.equal(state.changing.of, "r0");
  assert.deepEqual(state.changing.changes, [HEAD, MLP]);
});

test("a refusal keeps what was typed, and the next edit takes it away", () => {
  const patch = { ...HEAD, op: "patch", source: "too short" };
  const state = after(
    opened(),
    add(patch),
    { type: "changeSent" },
    { type: "changeRefused", problem: new Error("no") },
  );
  assert.deepEqual([state.changing.busy, state.changing.changes], [false, [patch]]);
  assert.equal(state.changing.problem.message, "no");
  assert.equal(after(state, { type: "setChange", index: 0, change: HEAD }).changing.problem, null);
});

test("the list stays for the run that it changes and the one that it started", () => {
  const { changing } = after(opened(), add(HEAD), { type: "changeSent" }, { type: "changeStarted", run: "r2" });
  assert.equal(changingFor(changing, "r1"), changing);
  assert.equal(changingFor(changing, "r2"), changing);
  assert.equal(changingFor(changing, "r3"), null);
  assert.equal(changingFor(null, "r1"), null);
});

test("the changes of an address replace the list, which can be undone, and none that can be read keeps it", () => {
  const linked = after(opened(), add(HEAD), { type: "changesLinked", texts: ["zero mlp layer 0"] });
  assert.deepEqual(linked.changing.changes, [HEAD]);
  const read = after(linked, { type: "changesRead", changes: [MLP], problem: null });
  assert.deepEqual([read.changing.changes, read.changing.linked], [[MLP], null]);
  assert.deepEqual(after(read, { type: "undoChange" }).changing.changes, [HEAD]);
  const problem = { message: "no change" };
  const wrong = after(linked, { type: "changesRead", changes: [], problem }).changing;
  assert.deepEqual([wrong.changes, wrong.problem, wrong.past.length], [[HEAD], problem, 1]);
  const same = after(linked, { type: "changesRead", changes: [HEAD], problem: null }).changing;
  assert.equal(same.past.length, 1);
});
