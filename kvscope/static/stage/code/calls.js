/** The calls of prefill and of a decode step as one tree, with both counts. Pure. */

/** @typedef {{name: string, path: string, line: number, count: number, calls: Call[]}} Call as the server gives it */
/** @typedef {{name: string, path: string, line: number, depth: number, prefill: number, decode: number}} Row */

/** Besides the shown files: what does the work of their lines where native code or a graph computes a step. */
const IN_THEIR_PLACE = ["model/native/steps.py", "model/cuda_graphs.py"];

/**
 * @param {{prefill: Call, decode: Call|null}} calls
 * @param {string[]} paths of the shown files
 * @returns {Row[]} the calls of functions in these files, and those that lead to them, in the order of the first call
 */
export function rowsOf({ prefill, decode }, paths) {
  const shown = [...paths, ...IN_THEIR_PLACE];
  const leads = (call) => Boolean(call) && (shown.includes(call.path) || call.calls.some(leads));
  const rows = [];
  const add = (first, second, depth) => {
    const { name, path, line } = first ?? second;
    rows.push({ name, path, line, depth, prefill: first?.count ?? 0, decode: second?.count ?? 0 });
    for (const [one, other] of pairs(first?.calls ?? [], second?.calls ?? [])) {
      if (leads(one) || leads(other)) add(one, other, depth + 1);
    }
  };
  add(prefill, decode, 0);
  return rows;
}

/** @returns {[Call|undefined, Call|undefined][]} the same function in both lists */
function pairs(first, second) {
  const same = (one) => (other) => other.path === one.path && other.line === one.line;
  return [
    ...first.map((one) => [one, second.find(same(one))]),
    ...second.filter((other) => !first.some(same(other))).map((other) => [undefined, other]),
  ];
}
