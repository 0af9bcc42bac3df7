/** Direct effects of a step, asked for once the total ones are measured. */

import { modelFor } from "../../../shared/facts/saved-session.js";
import { useExact } from "../../../shared/loading/use-exact.js";

/** @returns {Object} as `useExact`, of the question `direct`; idle without the total effects, or a model */
export function useDirect(client, { run, step, choice, readiness, done }) {
  const computes = done && modelFor(run, readiness) === "ready";
  const foil = choice.foil === null ? {} : { foil: choice.foil };
  return useExact(client.ask("direct"), computes ? { run: run.id, step, ...foil } : null);
}
