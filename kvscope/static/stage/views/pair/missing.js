/** The row of a query·key pair as the run's log has it, where the exact values are not available. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { Badge } from "../../../shared/ui/badge.js";
import { Table } from "../../../shared/ui/table.js";
import { msg } from "../../../shared/words/msg.js";
import { useRowKeys, weightCell } from "./row-keys.js";

/** @param {{why: string, run: Object, focus: Object, dispatch: Function}} props `why`: the sentence that says why */
export function Missing({ why, run, focus, dispatch }) {
  const { layer, head, query } = focus;
  const weights = useMemo(
    () => Array.from({ length: query + 1 }, (_, key) => run.weight(layer, head, query, key) ?? 0),
    [run, layer, head, query],
  );
  const rows = useRowKeys(
    { run, focus, weights, dispatch },
    (key) => [weightCell(weights[key])],
    () => [""],
  );
  return html`<section class="pair-part box pair-missing stack" aria-label=${msg`Attention weights in the log`}>
    <p role="status">${why}</p>
    <p class="pair-how muted small">
      ${msg`The run’s log has the weight of each key, with an error below 0.004, but no scores and no q, k or v.`}
      ${" "}<${Badge} origin="computed" />
    </p>
    <${Table} name=${msg`Weight of each key`} kind="row-table small" columns=${[{ head: msg`key` }, { head: msg`weight` }]} rows=${rows} />
  </section>`;
}
