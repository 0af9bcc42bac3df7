/** What happens to the chosen token: it is the only input of the next step, unless the run has ended. */

import { html } from "htm/preact";
import { ending } from "../../../shared/facts/endings.js";
import { quoted } from "../../../shared/facts/format.js";
import { Token } from "../../../shared/ui/token.js";
import { msg } from "../../../shared/words/msg.js";

/** The loop's line in CSS pixels: the margin on the left, its depth below, its corners, and where it enters again. */
const GUTTER_PX = 10;
const DEPTH_PX = 24;
const BEND_PX = 14;
const INPUT_PX = 22;

/** @returns {boolean} whether the token that a step chose is the input of the next step */
export function goesRound(run, step) {
  return step < run.steps.length - 1 || !run.close;
}

export function Loop({ run, step, controller }) {
  const { token } = run.steps[step].data;
  const next = step + 1;
  if (!goesRound(run, step)) {
    return html`<p class="loop-words row">
      <b class="chip is-output"><${Token} token=${token} /></b> ${msg`The loop ends here: ${ending(run.close)}.`}
    </p>`;
  }
  const computed = next < run.steps.length;
  return html`<p class="loop-words row">
    <b class="chip is-output"><${Token} token=${token} /></b>
    <span>${msg`One pass through all parts gives one token. ${quoted(token, 16)} is the only input of step ${next}.`}</span>
    ${computed && html`<button type="button" class="button nowrap still" onClick=${controller.next}>${msg`Go to step ${next} ▸`}</button>`}
  </p>`;
}

/** The line around the picture from its last part to its first. `from`: its distance from the right edge. */
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
