/** Values that only a run's own model can give: exact ones, where the model is there, and the reason where it is not. */

import { isNotStored, modelFor } from "../model/saved-run.js";
import { useExact } from "./use-exact.js";

/**
 * @param {{run: Object, readiness: Object}} state
 * @param {Function} load as in `useExact`
 * @param {Object|null} wanted as in `useExact`
 * @returns {{status: "idle"|"loading"|"ready"|"failed"|"unavailable"|"none", values: Object|null, problem: Error|null}}
 *   "unavailable": the model is not ready; "none": of a saved run, and not to be had on this server
 */
export function useModelValues({ run, readiness }, load, wanted) {
  const model = modelFor(run, readiness);
  const exact = useExact(load, model === "ready" ? wanted : null);
  if (model === "none" || isNotStored(run, exact.problem)) return { ...exact, status: "none" };
  return model === "ready" ? exact : { ...exact, status: "unavailable" };
}
