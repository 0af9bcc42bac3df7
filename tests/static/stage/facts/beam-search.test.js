import assert from "node:assert/strict";
import { test } from "node:test";
import { BeamSearch } from "../../../../kvscope/static/stage/facts/beam-search.js";
import { beamTree, ownContinuation } from "../../../../kvscope/static/stage/views/tokens/beams.js";
import { columns, pluck } from "../../support/lists.js";
import { token } from "../../support/wire.js";

const node = (id, parent, total, kept = true, ended = false) => ({
  ...{ id, parent, token: token(` ${id}`, id), logprob: -1, total, kept, ended },
});
const found = (depth, best, ...nodes) => ({
  kind: "beams",
  data: { depth, nodes, best, ms: 1, rows_computed: 9, kv: KV },
});
const STUDY = { kind: "beam", of: "r1", step: 2, beams: 2, length: 2 };
const KV = { blocks: 2, shared_blocks: 1, bytes_used: 10, bytes_if_copied: 20 };
/** Two beams, two deep: the second beam of depth 1 leads to the best of depth 2; node 1's child 6 ends the text. */
const FRAMES = [
  { kind: "open", data: { study: STUDY } },
  found(1, 0, node(0, null, -1), node(1, null, -2), node(2, null, -3, false)),
  found(2, 4, node(4, 1, -2.5), node(5, 0, -2.8), node(6, 1, -4, false, true)),
  { kind: "close", data: { reason: "length", error: null, steps: 0 } },
].map((frame, seq) => ({ ...frame, seq, run: "s1" }));

function searched(frames = FRAMES) {
  const search = new BeamSearch("s1");
  for (const frame of frames) search.push(frame);
  return search;
}

test("a search is folded from its frames in order, and takes no others", () => {
  const search = searched();
  assert.deepEqual([search.depths.length, search.nodes.size, search.close.reason], [2, 6, "length"]);
  assert.deepEqual(search.study, STUDY);
  assert.throws(() => searched([FRAMES[0], FRAMES[2]]), RangeError);
  assert.throws(() => searched([{ ...FRAMES[0], run: "s2" }]), RangeError);
  assert.throws(() => searched([FRAMES[0], { kind: "step", seq: 1, run: "s1", data: {} }]), RangeError);
});

test("the best path leads from the context to the likeliest hypothesis", () => {
  const search = searched();
  assert.deepEqual(pluck(search.path(search.best), "id"), [1, 4]);
  assert.deepEqual(pluck(searched(FRAMES.slice(0, 2)).path(0), "id"), [0]);
});

test("hypotheses are what is still followed, and what has ended, likeliest first", () => {
  const ended = structuredClone(FRAMES);
  ended[1].data.nodes[1] = node(1, null, -2, true, true);
  ended[2].data.nodes = [node(5, 0, -2.8)];
  assert.deepEqual(pluck(searched(ended).hypotheses(), "id"), [1, 5]);
  assert.deepEqual(pluck(searched().hypotheses(), "id"), [4, 5]);
});

test("children stand in their parents' order, so that no lines cross, and columns stay as they are", () => {
  const search = searched();
  const tree = beamTree(search, new Set([1, 4]));
  assert.deepEqual([tree.columns, tree.rows], [2, 3]);
  assert.deepEqual(pluck(pluck(tree.cells, "node"), "id"), [0, 1, 2, 5, 4, 6]);
  assert.deepEqual(columns(tree.cells, "column", "row", "parentRow", "onBest"), {
    column: [0, 0, 0, 1, 1, 1],
    row: [0, 1, 2, 0, 1, 2],
    parentRow: [null, null, null, 0, 1, 1],
    onBest: [false, true, false, false, true, false],
  });
  const before = beamTree(searched(FRAMES.slice(0, 2)), new Set([0]));
  assert.deepEqual(pluck(before.cells, "row"), [0, 1, 2]);
});

test("the run's own continuation is measured by the same sum", () => {
  const steps = [0.5, 0.25, 0.1].map((prob, id) => ({ data: { token: { ...token("x", id), raw_prob: prob } } }));
  const own = ownContinuation({ steps }, 1, 2);
  assert.equal(own.tokens.length, 2);
  assert.ok(Math.abs(own.total - Math.log(0.025)) < 1e-12);
  assert.equal(ownContinuation({ steps }, 2, 5).tokens.length, 1);
  steps[1].data.token.raw_prob = null;
  assert.equal(ownContinuation({ steps }, 0, 3), null);
});
