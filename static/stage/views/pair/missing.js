/** In place of the numbers of a query·key pair, where nobody can have them: the row as the run's log has it. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { Badge } from "../../../shared/ui/badge.js";
import { RowKeys, ShareCell } from "./row-keys.js";

/** @param {{why: string, run: Object, focus: Object, dispatch: Function}} props `why`: a sentence */
export function Missing({ why, run, focus, dispatch }) {
  const { layer, head, query } = focus;
  const weights = useMemo(
    () => Array.from({ length: query + 1 }, (_, key) => run.weight(layer, head, query, key)),
    [run, layer, head, query],
  );
  const cells = (key) => html`<${ShareCell} weight=${weights[key]} />`;
  return html`<section class="pair-part box pair-missing stack" aria-label="What the log has">
    <p role="status">${why}</p>
    <p class="pair-how muted small">
      The run's log has the share that each key gets, within 0.004 <${Badge} origin="computed" />. It does not have the vectors
      q, k and v, nor the scores they give.
    </p>
    <div class="row-box across">
      <table class="row-table small fill">
        <thead>
          <tr><th scope="col">key</th><th scope="col">share</th></tr>
        </thead>
        <tbody>
          <${RowKeys} run=${run} focus=${focus} weights=${weights} dispatch=${dispatch} cells=${cells} rest=${() => html`<td></td>`} />
        </tbody>
      </table>
    </div>
  </section>`;
}
