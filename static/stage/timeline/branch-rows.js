/** A family of runs as a tree: a row per run, token positions across, what two runs share drawn once. Pure. */

/**
 * @param {{runs: Object[]}} family as the server lists it; studies, such as twins, are no branches
 * @param {number} promptLength tokens of the prompt, the same for every run of a family
 * @returns {{id: string, depth: number, row: number, parentRow: number|null, from: number, to: number,
 *   token: Object|null, position: number|null, parent: string|null, status: string, reason: string|null}[]}
 *   every run under its parent, siblings in the order in which they were made; `from`…`to`: the positions it has of its own
 */
export function branchRows(family, promptLength) {
  const runs = family.runs.filter((run) => !run.study);
  const known = new Set(runs.map((run) => run.id));
  const isRoot = (run) => !run.parent || !known.has(run.parent.run);
  const childrenOf = (id) => runs.filter((run) => run.parent?.run === id).sort(byAge);
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
      token: run.parent ? asToken(run.parent.token) : null,
      position: run.parent?.position ?? null,
      parent: run.parent?.run ?? null,
      status: run.status,
      reason: run.reason,
    });
    for (const child of childrenOf(run.id)) place(child, depth + 1, row);
  };
  for (const run of runs.filter(isRoot).sort(byAge)) place(run, 0, null);
  return rows;
}

/** The family names tokens by id and text only. */
function asToken({ id, text }) {
  const bytes = [...new TextEncoder().encode(text)].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return { id, text, bytes, special: false };
}

function byAge(a, b) {
  return a.created < b.created ? -1 : a.created > b.created ? 1 : 0;
}

/**
 * Where to look when one goes from a run to another of its family: at the token that one of them was given.
 *
 * @param {Object[]} rows of `branchRows`
 * @returns {number} a position: where `to` left its parent, or where `from` left `to`
 */
export function partingPosition(rows, from, to) {
  const byId = new Map(rows.map((row) => [row.id, row]));
  let below = byId.get(from);
  while (below && below.parent !== to) below = byId.get(below.parent);
  const target = byId.get(to);
  return below?.position ?? target?.position ?? 0;
}
