/** The exact values of the shown head, for the views that need them. */

import { useModelValues } from "../state/use-model-values.js";

/**
 * Requested only for a settled selection: not while another head is only hovered, nor while a playing run changes the
 * selection.
 *
 * @param {Object} state of the store
 * @param {Object} focus from `headFocus`
 * @param {Object} client
 * @param {boolean} wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed"|"unavailable"|"none"|"damaged", values: Object|null,
 *   row: number, stored: boolean}} `row`: the query's row in them; all else as in `useModelValues`
 */
export function useHeadValues({ run, playing, readiness, selection }, focus, client, wanted) {
  const { layer, head, query, key, locked, preview } = focus;
  const step = run.stepOfQuery(query);
  const settled = key !== null && !preview && (!playing || (locked && selection.query !== null));
  const request = wanted && settled ? { run: run.id, step, layer, head } : null;
  const { status, values, stored } = useModelValues({ run, readiness }, client.ask("head"), request, "head", layer);
  const row = key === null ? 0 : run.rowInStep(query);
  const isIdle = status === "unavailable" && !settled;
  return { status: isIdle ? "idle" : status, values, row, stored };
}
