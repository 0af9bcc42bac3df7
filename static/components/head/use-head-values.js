/** The exact values of the head in sight, for the zooms that show them. */

import { useExact } from "../use-exact.js";

/**
 * Asked for when the choice has settled: not while another head is only pointed at, nor while a playing run takes the
 * choice along.
 *
 * @param {Object} state of the store
 * @param {Object} focus as `headFocus` gives it
 * @param {Object} client
 * @param {boolean} wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed", values: Object|null, row: number}} `row`: the query's row in them
 */
export function useHeadValues({ run, playing, readiness, selection }, focus, client, wanted) {
  const { layer, head, query, locked, preview } = focus;
  const step = run.stepOfQuery(query);
  const settled = !preview && (!playing || (locked && selection.query !== null));
  const ready = readiness.state === "ready";
  const { status, values } = useExact(client.head, wanted && settled && ready ? { run: run.id, step, layer, head } : null);
  return { status: settled && !ready ? "failed" : status, values, row: query - run.steps[step].firstQuery };
}
