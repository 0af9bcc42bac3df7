/** Exact values of a run's model, or the reason why they are unavailable. */

import { isNotStored, modelFor } from "../../shared/facts/saved-session.js";
import { useExact } from "../../shared/loading/use-exact.js";
import { isStored } from "../../shared/log/is-stored.js";

/**
 * @param {{run: Object, readiness: Object}} state
 * @param {(wanted: Object) => Promise<any>} load as in `useExact`
 * @param {Object|null} wanted as in `useExact`
 * @param {"head"|"block"|"code"|"lens"|"algebra"|"operations"|"candidates"|"weights"|"contributions"|"shards"|"losses"|"tokens"|"embedding"} answer the result of `load`
 * @param {number} [layer] that `head` and `block` are about, also while nothing is wanted
 * @returns {{status: "idle"|"loading"|"ready"|"failed"|"unavailable"|"none"|"damaged", values: Object|null,
 *   problem: import("../../shared/log/problem.js").Problem|null, stored: boolean}} "unavailable": the model is not ready; "none": a saved run whose values
 *   this server cannot give; "damaged": stored but not readable; `stored`: the values are stored with the session
 */
export function useModelValues({ run, readiness }, load, wanted, answer, layer) {
  const stored = isStored(run.saved, answer, layer);
  const model = stored ? "ready" : modelFor(run, readiness);
  const exact = { ...useExact(load, model === "ready" ? wanted : null), stored };
  if (model === "none" || isNotStored(run, exact.problem)) return { ...exact, status: "none" };
  if (stored) return exact.status === "failed" ? { ...exact, status: "damaged" } : exact;
  return model === "ready" ? exact : { ...exact, status: "unavailable" };
}
