/** Where the chosen token goes: round, as the only input of the next step; or nowhere, when the run is over. */

import { html } from "htm/preact";
import { ending } from "../../../shared/facts/endings.js";
import { quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";

/** The way round, in CSS pixels: the gutter on the left, how deep the loop hangs, and where it comes in again. */
const GUTTER_PX = 10;
const DEPTH_PX = 24;
const BEND_PX = 14;
const INPUT_PX = 22;

/** @returns {boolean} whether the token that a step chose was fed, or will be */
export function goesRound(run, step) {
  return step < run.steps.length - 1 || !run.close;
}

export function Loop({ run, step, controller }) {
  const { token } = run.steps[step].data;
  const next = step + 1;
  if (!goesRound(run, step)) {
    return html`<p class="loop-words row">
      <b class="chip is-output"><${Token} token=${token} /></b> The loop ends here: ${ending(run.close)}.
    </p>`;
  }
  const made = next < run.steps.length;
  return html`<p class="loop-words row">
    <b class="chip is-output"><${Token} token=${token} /></b>
    <span>One pass gives one token. ${quoted(token, 16)} goes round: it is all that step ${next} is fed.</span>
    ${made && html`<button type="button" class="button nowrap still" onClick=${controller.next}>Follow it into step ${next} ▸</button>`}
  </p>`;
}

/** The line that the token goes along, around the picture from its last part, `from` the right, to its first. */
export function LoopLine({ width, height, from }) {
  const x = width - from;
  const bottom = height - DEPTH_PX / 2;
  const down = height - DEPTH_PX - 26;
  const line = `M${x} ${down} V${bottom - BEND_PX} q0 ${BEND_PX} ${-BEND_PX} ${BEND_PX} H${GUTTER_PX + BEND_PX}
    q${-BEND_PX} 0 ${-BEND_PX} ${-BEND_PX} V${INPUT_PX + BEND_PX} q0 ${-BEND_PX} ${BEND_PX} ${-BEND_PX} h4`;
  const tip = GUTTER_PX + BEND_PX + 4;
  return html`<svg class="loop-line over untouched" width=${width} height=${height} aria-hidden="true">
    <path d=${line} /><path class="loop-tip" d=${`M${tip} ${INPUT_PX - 6} l9 6 l-9 6 z`} />
  </svg>`;
}
