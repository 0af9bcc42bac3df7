/** Sliders for requests and tokens, the two numbers that fill the memory. A notch is an eighth of a doubling. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

const NOTCHES = 8;
/** The range of a slider, in doublings; the field accepts more. */
const DOUBLINGS = { requests: 12, context: 20 };

/** @param {{inputs: Object, put: (field: string, text: string) => void}} props */
export function Sliders({ inputs, put }) {
  return html`<div class="sliders grid">
    ${[
      ["requests", msg`Requests at once`],
      ["context", msg`Tokens each`],
    ].map(
      ([
        field,
        label,
      ]) => html`<label class="stack tight" key=${field}><span>${label} <b class="number">${integer(inputs[field])}</b></span>
        <input type="range" min="0" max=${NOTCHES * DOUBLINGS[field]} step="1" value=${Math.round(NOTCHES * Math.log2(inputs[field]))}
          aria-label=${msg`${label}, slider`} aria-valuetext=${integer(inputs[field])}
          onInput=${(event) => put(field, String(Math.round(2 ** (Number(event.currentTarget.value) / NOTCHES))))} /></label>`,
    )}
  </div>`;
}
