import assert from "node:assert/strict";
import test from "node:test";
import { stageShows } from "../../../../kvscope/static/stage/embed/stage-picture.js";
import { initialState, reduce } from "../../../../kvscope/static/stage/state/store.js";

const opened = (id) => ({
  id,
  open: { sampling: { strategy: "greedy" }, prompt: "Hi", parent: null },
  close: { reason: "eos" },
  steps: [{ data: { ms: { total: 1, layers: [] } } }],
  positions: 3,
});

test("the picture reports the experiments of its own run, not those of another", () => {
  const told = (state) => {
    const { without_cache, cache_cleared, beam_search } = stageShows(state);
    return { without_cache, cache_cleared, beam_search };
  };
  let state = { ...initialState, run: opened("a") };
  assert.deepEqual(told(state), { without_cache: false, cache_cleared: false, beam_search: false });
  for (const experiment of ["none", "beam"]) state = reduce(state, { type: "ended", run: "a", experiment });
  state = reduce(state, { type: "ended", run: "b", experiment: "forgotten" });
  assert.deepEqual(told(state), { without_cache: true, cache_cleared: false, beam_search: true });
  const ofOther = told({ ...state, run: opened("b") });
  assert.deepEqual(ofOther, { without_cache: false, cache_cleared: true, beam_search: false });
});
