/** Says whether the candidates are shown under the run's settings or under what-if settings, with the buttons for those. */

import { html } from "htm/preact";
import { settingsInWords } from "../../shared/facts/settings.js";
import { msg } from "../../shared/words/msg.js";
import { sameSettings } from "./sampling.js";

const RESET = msg`Reset to this run's settings`;

/**
 * The buttons are always there, so that no slider moves away from the pointer that moves it.
 *
 * @param {{settings: Object, used: Object, isKnown: boolean, next: Object, dispatch: Function}} props `isKnown`: whether the log says how the run
 *   chose its tokens; if not, `used` leaves the logits as they are; `next`: what the next run will use
 */
export function WhatIf({ settings, used, isKnown, next, dispatch }) {
  const own = sameSettings(settings, used);
  const { strategy, temperature, top_k, top_p } = settings;
  const use = () => dispatch({ type: "sampling", patch: { strategy, temperature, top_k, top_p } });
  const says = !isKnown
    ? msg`How the run chose its tokens is not known. These are the probabilities of its logits; move a slider to try settings.`
    : own
      ? msg`These are this run's settings. Move a slider to try others; the run does not change.`
      : msg`What-if settings. This run used ${settingsInWords(used)}; it does not change.`;
  return html`<p class=${own ? "next-note muted" : "next-note muted is-what-if"}>${says}</p>
    <p class="next-actions row muted">
      <button class="button small"
        type="button" title=${RESET} aria-label=${RESET} aria-disabled=${own}
        onClick=${() => dispatch({ type: "whatIf", patch: null })}
      >${msg`Reset`}</button>
      ${
        sameSettings(settings, next)
          ? html`<span>${msg`The next run uses these settings.`}</span>`
          : html`<button class="button small" type="button" onClick=${use}>${msg`Use for the next run`}</button>`
      }
    </p>`;
}
