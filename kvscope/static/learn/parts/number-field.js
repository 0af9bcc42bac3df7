/** A field for a whole number, with a slider over powers of two and the problem of an invalid number. */

import { html } from "htm/preact";
import { integer } from "../../shared/facts/format.js";
import { msg } from "../../shared/words/msg.js";

/** Notches of a slider for each doubling. */
const NOTCHES = 8;

/**
 * @param {{id: string, name: string, label: *, text: string, value: number, least: number, most: number, problem: string|undefined,
 *   put: (text: string) => void}} props `value`: the last valid number
 */
export function NumberField({ id, name, label, text, value, least, most, problem, put }) {
  const notch = (number) => Math.round(NOTCHES * Math.log2(number + 1 - least));
  const slide = (event) => {
    const number = Math.round(2 ** (Number(event.currentTarget.value) / NOTCHES)) - 1 + least;
    put(String(Math.min(most, Math.max(least, number))));
  };
  return html`<div class="learn-field stack tight">
    <label for=${id}>${label}</label>
    <div class="line">
      <input id=${id} type="text" inputmode="numeric" autocomplete="off" spellcheck=${false} value=${text} aria-invalid=${problem ? "true" : null}
        aria-describedby=${problem ? `${id}-wrong` : null} onInput=${(event) => put(event.currentTarget.value.trim())} />
      <input type="range" class="grow own-tools" min="0" max=${notch(most)} step="1" value=${notch(value)} aria-label=${msg`${name}, slider`}
        aria-valuetext=${integer(value)} onInput=${slide} />
    </div>
    ${problem && html`<p class="own-wrong word-bad breaks" id=${`${id}-wrong`} role="alert">${problem} ${msg`The results are for ${integer(value)}.`}</p>`}
  </div>`;
}
