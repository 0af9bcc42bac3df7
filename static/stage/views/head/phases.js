/** How many rows of the matrix were computed at once, and why. */

import { html } from "htm/preact";
import { counted, integer } from "../../../shared/facts/format.js";
import { passesInWords } from "../../../shared/facts/passes.js";

/** @param {{run: Object, newest: number}} props `newest`: the last row in sight */
export function Phases({ run, newest }) {
  return html`<ul class="head-phases muted small">
    <li>
      prefill: ${counted(run.prefillRows, "row")}${run.prefillRows > 1 && ` ${passesInWords(run)}`}${run.reused > 0 && `, ${integer(run.reused)} read`}
    </li>
    ${newest >= run.promptLength && html`<li>decode: one row a step</li>`}
  </ul>`;
}

/** @returns {string} why the newest rows came together, or the newest alone */
export function whySoMany(run, newest) {
  if (newest >= run.promptLength)
    return "Why one row a step? A new token is known only when the step before has chosen it.";
  if (run.promptLength === 1) return "One token of prompt is one row; it can look only at itself.";
  if (run.reused)
    return `The first ${counted(run.reused, "token")} have no rows here: an earlier run computed their K and V, and this one reads them.`;
  const why = "Every token of the prompt is known before the first step";
  if (run.prefillPasses > 1)
    return `Why so many rows at once? ${why}. A long prompt goes in several passes, so that others need not wait for it.`;
  return `Why all rows at once? ${why}.`;
}
