/** The two numbers that fill a card, to be slid: people and tokens. Each notch is an eighth of a doubling. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";

const NOTCHES = 8;
/** Doublings up to which a slider goes; the field takes more. */
const DOUBLINGS = { requests: 12, context: 20 };

/** @param {{inputs: Object, put: (field: string, text: string) => void}} props */
export function Sliders({ inputs, put }) {
  return html`<div class="sliders grid">
    ${[
      ["requests", "People at once"],
      ["context", "Tokens each"],
    ].map(
      ([
        field,
        label,
      ]) => html`<label class="stack tight" key=${field}><span>${label} <b class="number">${integer(inputs[field])}</b></span>
        <input type="range" min="0" max=${NOTCHES * DOUBLINGS[field]} step="1" value=${Math.round(NOTCHES * Math.log2(inputs[field]))}
          aria-label=${`${label}, slide`} aria-valuetext=${integer(inputs[field])}
          onInput=${(event) => put(field, String(Math.round(2 ** (Number(event.currentTarget.value) / NOTCHES))))} /></label>`,
    )}
  </div>`;
}
