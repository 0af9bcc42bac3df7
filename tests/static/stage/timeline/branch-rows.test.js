import assert from "node:assert/strict";
import { test } from "node:test";
import { branchRows, divergingPosition } from "../../../../kvscope/static/stage/timeline/branch-rows.js";
import { columns } from "../../support/lists.js";

const run = (id, created, parent, position, extra = {}) => ({
  ...{ id, created, parent: parent && { run: parent, position, token: { id: 7, text: ` ${id}` } } },
  ...{ study: null, status: "closed", reason: "length", steps: 10, ...extra },
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
  assert.deepEqual(columns(rows, "id", "depth", "row", "parentRow"), {
    id: ["a", "b", "d", "c"],
    depth: [0, 1, 2, 1],
    row: [0, 1, 2, 3],
    parentRow: [null, 0, 1, 0],
  });
});

test("a branch's line begins where it left its parent, and ends with its newest token", () => {
  const rows = branchRows(FAMILY, 4);
  assert.deepEqual(columns(rows, "from", "to"), { from: [0, 6, 9, 8], to: [14, 14, 11, 14] });
  assert.equal(rows[1].token.bytes, "2062");
});

test("a run whose parent is not known is a root of its own", () => {
  const rows = branchRows({ runs: [run("x", "1", "gone", 6)] }, 4);
  assert.deepEqual(columns(rows, "id", "parentRow", "from"), { id: ["x"], parentRow: [null], from: [6] });
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
  const runs = [run("a", "1", null), run("x", "2", null, 0, { changed }), run("y", "3", "x", 7, { changed })];
  const rows = branchRows({ runs }, 4);
  assert.deepEqual(columns(rows, "id", "depth", "from", "changes"), {
    id: ["a", "x", "y"],
    depth: [0, 1, 2],
    from: [0, 0, 7],
    changes: [null, changes, null],
  });
  assert.equal(divergingPosition(rows, "a", "x"), null, "no token was given");
  assert.equal(divergingPosition(rows, "x", "y"), 7);
});
