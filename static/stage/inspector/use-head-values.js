/** The exact values of the head in sight, for the zooms that show them. */

import { useModelValues } from "../../shared/loading/use-model-values.js";

/**
 * Asked for when the choice has settled: not while another head is only pointed at, nor while a playing run takes the
 * choice along.
 *
 * @param {Object} state of the store
 * @param {Object} focus as `headFocus` gives it
 * @param {Object} client
 * @param {boolean} wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed"|"none"|"damaged", values: Object|null, row: number,
 *   stored: boolean}} `row`: the query's row in them; "none": of a saved run, and not to be had on this server; `stored`,
 *   "damaged": as `useModelValues` gives them
 */
export function useHeadValues({ run, playing, readiness, selection }, focus, client, wanted) {
  const { layer, head, query, key, locked, preview } = focus;
  const step = run.stepOfQuery(query);
  const settled = key !== null && !preview && (!playing || (locked && selection.query !== null));
  const asked = wanted && settled ? { run: run.id, step, layer, head } : null;
  const { status, values, stored } = useModelValues({ run, readiness }, client.ask("head"), asked, "head");
  const row = key === null ? 0 : run.rowInStep(query);
  if (status !== "unavailable") return { status, values, row, stored };
  return { status: settled ? "failed" : "idle", values, row, stored };
}
