/** The shown run beside the original that it changes. */

import { useMemo } from "preact/hooks";
import { comparisonOf } from "../../shared/compare/alignment.js";

/**
 * @param {Object} state of the store
 * @returns {{original: import("../../shared/log/run.js").Run, run: import("../../shared/log/run.js").Run, aligned: Object}|null} `aligned`:
 *   from `comparisonOf`; null for a run without changes, and until both runs have a step
 */
export function useComparison({ run, original }) {
  const other = original?.run ?? null;
  const ready = Boolean(run?.open?.changed && run.steps.length && other?.open && other.steps.length);
  const aligned = useMemo(
    () => (ready ? comparisonOf(other, run) : null),
    [ready, other, run, other?.tokens.length, run?.tokens.length],
  );
  return aligned && { original: other, run, aligned };
}
