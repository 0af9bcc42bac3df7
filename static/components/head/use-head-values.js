/** The exact values of the head in sight, for the zooms that show them. */

import { isNotStored, modelFor } from "../../model/saved-run.js";
import { useExact } from "../use-exact.js";

/**
 * Asked for when the choice has settled: not while another head is only pointed at, nor while a playing run takes the
 * choice along.
 *
 * @param {Object} state of the store
 * @param {Object} focus as `headFocus` gives it
 * @param {Object} client
 * @param {boolean} wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed"|"none", values: Object|null, row: number}} `row`: the query's row
 *   in them; "none": of a saved run, and not to be had on this server
 */
export function useHeadValues({ run, playing, readiness, selection }, focus, client, wanted) {
  const { layer, head, query, locked, preview } = focus;
  const step = run.stepOfQuery(query);
  const settled = !preview && (!playing || (locked && selection.query !== null));
  const model = modelFor(run, readiness);
  const asked = wanted && settled && model === "ready" ? { run: run.id, step, layer, head } : null;
  const { status, values, problem } = useExact(client.head, asked);
  const row = query - run.steps[step].firstQuery;
  if (model === "none" || isNotStored(run, problem)) return { status: "none", values, row };
  return { status: settled && model !== "ready" ? "failed" : status, values, row };
}
