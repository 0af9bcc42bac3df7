/** How many rows of the matrix were computed at once, and why. */

import { html } from "htm/preact";
import { counted } from "../../facts/format.js";

/** @param {{run: Object, newest: number}} props `newest`: the last row in sight */
export function Phases({ run, newest }) {
  return html`<ul class="head-phases">
    <li><b>prefill: ${counted(run.promptLength, "row")}${run.promptLength > 1 && " at once"}.</b><span class="phase-why"> All words of the prompt are known.</span></li>
    ${
      newest >= run.promptLength &&
      html`<li><b>decode: one row a step.</b><span class="phase-why"> Each new word is known only when the step before has chosen it.</span></li>`
    }
  </ul>`;
}
