/** A row of scores as bars, a group per tile: each e^(score − largest so far), so that all shrink when a larger one comes. */

import { html } from "htm/preact";
import { counted } from "../../../shared/facts/format.js";

/** With more tiles there is no room to name each. */
const NAMED = 24;

/** @param {{steps: Object[], at: number, first: number}} props as `tiledRow` gives them; `at`: the tile in sight */
export function TileStrip({ steps, at, first }) {
  const { max } = steps[at].after;
  const shrunk = (step) => Math.exp(step.after.max - max);
  return html`<p class="muted small">A bar is a key: exp(score − largest score so far)</p>
    <ol class="tile-strip row" aria-label="Tiles of keys">
    ${first > 0 && html`<li class="is-hidden">${counted(first, "key")} out of the window: not read</li>`}
    ${steps.map((step, tile) => {
      const state = tile < at ? "is-done" : tile === at ? "is-now" : "is-next";
      const words = { "is-done": "added and dropped", "is-now": "read now", "is-next": "not read yet" }[state];
      return html`<li key=${tile} class=${state} aria-current=${tile === at ? "step" : undefined}>
        <span class="tile-bars" aria-hidden="true">
          ${Array.from(step.powers, (power) => html`<i style=${`--high:${(tile > at ? 0 : 100 * power * shrunk(step)).toFixed(1)}%`}></i>`)}
        </span>
        <span class=${steps.length > NAMED ? "visually-hidden" : "tile-name muted centred"}>${step.from === step.to ? step.from : `${step.from}–${step.to}`}<span class="visually-hidden">, ${words}</span></span>
      </li>`;
    })}
  </ol>`;
}
