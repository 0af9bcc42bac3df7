/** A beam search as a tree: token positions across, the candidates of one depth under each other. Pure. */

/**
 * Places all candidates in columns and rows. A column never changes: a deeper one is added beside it.
 * Children have the order of their parents, so that lines do not cross; children of one parent are sorted by likelihood.
 *
 * @param {{depths: {nodes: Object[]}[]}} search
 * @param {Set<number>} best ids of the nodes on the likeliest path
 * @returns {{columns: number, rows: number, cells: {node: Object, column: number, row: number, parentRow: number|null,
 *   onBest: boolean}[]}} `parentRow` null: the candidate follows the context itself
 */
export function beamTree({ depths }, best) {
  const rowOf = new Map();
  const cells = depths.flatMap(({ nodes }, column) => {
    const rowOfParent = ({ parent }) => (parent === null ? 0 : rowOf.get(parent));
    const ordered = [...nodes].sort((a, b) => rowOfParent(a) - rowOfParent(b) || b.total - a.total);
    return ordered.map((node, row) => {
      rowOf.set(node.id, row);
      return {
        node,
        column,
        row,
        parentRow: node.parent === null ? null : rowOfParent(node),
        onBest: best.has(node.id),
      };
    });
  });
  return { columns: depths.length, rows: Math.max(0, ...cells.map(({ row }) => row + 1)), cells };
}

/**
 * Returns the run's tokens from a step on, at most as many as the search is deep, to compare with the best beam.
 *
 * @param {import("../../../shared/log/run.js").Run} run
 * @param {number} step the first step of the search
 * @param {number} length
 * @returns {{tokens: Object[], total: number}|null} `total`: sum of ln of each token's probability under the raw logits;
 *   null when a probability is not in the log
 */
export function ownContinuation(run, step, length) {
  const tokens = run.steps.slice(step, step + length).map(({ data }) => data.token);
  if (tokens.length === 0 || tokens.some(({ raw_prob: prob }) => !(prob > 0))) return null;
  return { tokens, total: tokens.reduce((sum, { raw_prob: prob }) => sum + Math.log(prob), 0) };
}
