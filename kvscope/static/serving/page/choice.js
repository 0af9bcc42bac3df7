/** A number that the reader chooses with a slider. */

import { html } from "htm/preact";
import { tokenCount } from "../../shared/words/counts.js";

/** @param {{choice: Omit<import("../experiments.js").Choice, "value">, value: number, put: (value: number) => void}} props */
export function Choice({ choice: { label, least, most, step, text: textOf = tokenCount }, value, put }) {
  const text = textOf(value);
  return html`<label class="experiment-choice line">
    <span>${label}</span>
    <input type="range" min=${least} max=${most} step=${step} value=${value} aria-valuetext=${text} onInput=${(event) => put(Number(event.currentTarget.value))} />
    <b class="number">${text}</b>
  </label>`;
}
