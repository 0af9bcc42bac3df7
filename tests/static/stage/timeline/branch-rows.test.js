import assert from "node:assert/strict";
import { test } from "node:test";
import { branchRows, divergingPosition } from "../../../../kvscope/static/stage/timeline/branch-rows.js";

const run = (id, created, parent, position, extra = {}) => ({
  id,
  created,
  parent: parent && { run: parent, position, token: { id: 7, text: ` ${id}` } },
  study: null,
  status: "closed",
  reason: "length",
  steps: 10,
  ...extra,
});

/** a ─┬─ b (at 6) ── d (at 9)
 *     └─ c (at 8), and a twin of a that is no branch */
const FAMILY = {
  root: "a",
  runs: [
    run("a", "1", null),
    run("t", "2", null, 0, { study: { kind: "twin", of: "a" } }),
    run("d", "4", "b", 9, { steps: 7, status: "running", reason: null }),
    run("c", "5", "a", 8),
    run("b", "3", "a", 6),
  ],
};

test("every run stands under its parent, siblings by age, and studies are left out", () => {
  const rows = branchRows(FAMILY, 4);
  assert.deepEqual(
    rows.map(({ id, depth, row, parentRow }) => [id, depth, row, parentRow]),
    [
      ["a", 0, 0, null],
      ["b", 1, 1, 0],
      ["d", 2, 2, 1],
      ["c", 1, 3, 0],
    ],
  );
});

test("a branch's line begins where it left its parent, and ends with its newest token", () => {
  const rows = branchRows(FAMILY, 4);
  assert.deepEqual(
    rows.map(({ from, to }) => [from, to]),
    [
      [0, 14],
      [6, 14],
      [9, 11],
      [8, 14],
    ],
  );
  assert.equal(rows[1].token.bytes, "2062");
});

test("a run whose parent is not known is a root of its own", () => {
  const rows = branchRows({ runs: [run("x", "1", "gone", 6)] }, 4);
  assert.deepEqual(
    rows.map(({ id, parentRow, from }) => [id, parentRow, from]),
    [["x", null, 6]],
  );
});

test("one comes to a relative where the two part", () => {
  const rows = branchRows(FAMILY, 4);
  assert.equal(divergingPosition(rows, "a", "d"), 9, "down: where it was branched");
  assert.equal(divergingPosition(rows, "d", "a"), 6, "up: where one's own line left it");
  assert.equal(divergingPosition(rows, "d", "b"), 9);
  assert.equal(divergingPosition(rows, "d", "c"), 8);
});

test("a changed run stands under its original, and its branch under it", () => {
  const changes = [{ site: "mlp", layer: 0 }];
  const changed = { of: "a", changes };
  const rows = branchRows(
    { runs: [run("a", "1", null), run("x", "2", null, 0, { changed }), run("y", "3", "x", 7, { changed })] },
    4,
  );
  assert.deepEqual(
    rows.map(({ id, depth, from, changes }) => [id, depth, from, changes]),
    [
      ["a", 0, 0, null],
      ["x", 1, 0, changes],
      ["y", 2, 7, null],
    ],
  );
  assert.equal(divergingPosition(rows, "a", "x"), null, "no token was given");
  assert.equal(divergingPosition(rows, "x", "y"), 7);
});
