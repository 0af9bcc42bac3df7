/** A row of scores as bars, a group per tile. A bar is e^(score − largest so far): all shrink when a larger score is read. */

import { html } from "htm/preact";
import { integer } from "../../../shared/facts/format.js";
import { form, msg, plural } from "../../../shared/words/msg.js";

/** With more tiles there is no space for their labels. */
const MOST_LABELS = 24;
const STATES = { "is-done": msg`already read`, "is-now": msg`read now`, "is-next": msg`not read yet` };

/** @param {{steps: Object[], at: number, first: number}} props as `tiledRow` gives them; `at`: the tile shown */
export function TileStrip({ steps, at, first }) {
  const { max } = steps[at].after;
  const shrunk = (step) => Math.exp(step.after.max - max);
  return html`<p class="muted small">${msg`One bar per key: exp(score − largest score so far)`}</p>
    <ol class="tile-strip row" aria-label=${msg`Tiles of keys`}>
    ${
      first > 0 &&
      html`<li class="is-hidden">${plural(
        first,
        form`${integer(first)} key is outside the window and is not read`,
        form`${integer(first)} keys are outside the window and are not read`,
      )}</li>`
    }
    ${steps.map((step, tile) => {
      const state = tile < at ? "is-done" : tile === at ? "is-now" : "is-next";
      return html`<li key=${tile} class=${state} aria-current=${tile === at ? "step" : undefined}>
        <span class="tile-bars" aria-hidden="true">
          ${Array.from(step.powers, (power) => html`<i style=${`--high:${(tile > at ? 0 : 100 * power * shrunk(step)).toFixed(1)}%`}></i>`)}
        </span>
        <span class=${steps.length > MOST_LABELS ? "visually-hidden" : "tile-name muted centred"}>${step.from === step.to ? step.from : `${step.from}–${step.to}`}<span class="visually-hidden">, ${STATES[state]}</span></span>
      </li>`;
    })}
  </ol>`;
}
