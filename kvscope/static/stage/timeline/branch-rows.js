/** A run, its branches and its changed runs as a tree: one row per run, positions across, shared tokens drawn once. Pure. */

import { listedToken, runsInTree } from "../../shared/facts/branching.js";

/**
 * @param {{runs: Object[]}} family as the server lists it
 * @param {number} promptLength tokens of the prompt, the same in every run of the tree
 * @returns {{id: string, depth: number, row: number, parentRow: number|null, from: number, to: number,
 *   token: Object|null, position: number|null, parent: string|null, changes: Object[]|null, status: string, reason: string|null}[]}
 *   every run under its parent, siblings oldest first; `from`…`to`: the positions that it does not share with its parent. `changes`: of a
 *   changed run, whose parent is the run it was made from
 */
export function branchRows(family, promptLength) {
  const runs = runsInTree(family);
  const known = new Set(runs.map((run) => run.id));
  const isRoot = (run) => !known.has(originOf(run));
  const childrenOf = (id) => runs.filter((run) => originOf(run) === id).sort(byAge);
  const rows = [];
  const place = (run, depth, parentRow) => {
    const row = rows.length;
    rows.push({
      id: run.id,
      depth,
      row,
      parentRow,
      from: run.parent ? run.parent.position : 0,
      to: promptLength + run.steps,
      token: run.parent ? listedToken(run.parent.token) : null,
      position: run.parent?.position ?? null,
      parent: originOf(run),
      changes: run.parent ? null : (run.changed?.changes ?? null),
      status: run.status,
      reason: run.reason,
    });
    for (const child of childrenOf(run.id)) place(child, depth + 1, row);
  };
  for (const run of runs.filter(isRoot).sort(byAge)) place(run, 0, null);
  return rows;
}

/** A branch of a changed run has the changes of its parent. */
const originOf = ({ parent, changed }) => (parent ? parent.run : (changed?.of ?? null));

function byAge(a, b) {
  return a.created < b.created ? -1 : a.created > b.created ? 1 : 0;
}

/**
 * Returns where two related runs begin to differ: at the token that one of them was given.
 *
 * @param {Object[]} rows of `branchRows`
 * @returns {number|null} the position of that token; null if no token was given, as in a changed run
 */
export function divergingPosition(rows, from, to) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  let below = byId.get(from);
  while (below && below.parent !== to) below = byId.get(below.parent);
  const target = byId.get(to);
  return (below ?? target)?.position ?? null;
}
