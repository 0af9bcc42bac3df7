/** Whether the candidates are shown under the run's own settings or under others, and what can be done with those. */

import { html } from "htm/preact";
import { sameSettings, settingsInWords } from "./sampling.js";

/** @param {{settings: Object, used: Object, next: Object, dispatch: Function}} props `next`: what the next run will use */
export function WhatIf({ settings, used, next, dispatch }) {
  if (sameSettings(settings, used))
    return html`<p class="next-note muted">These are the run's own settings. Move a slider: nothing is run again.</p>`;
  const { strategy, temperature, top_k, top_p } = settings;
  const use = () => dispatch({ type: "sampling", patch: { strategy, temperature, top_k, top_p } });
  return html`<p class="next-note muted is-what-if">What if. This run used ${settingsInWords(used)}; nothing is run again.</p>
    <p class="next-actions row muted">
      <button class="button small"
        type="button" title="Reset to the run's own" aria-label="Reset to the run's own"
        onClick=${() => dispatch({ type: "whatIf", patch: null })}
      >Reset</button>
      ${
        sameSettings(settings, next)
          ? html`<span>the next run uses these</span>`
          : html`<button class="button small" type="button" onClick=${use}>Use for the next run</button>`
      }
    </p>`;
}
