/** Large type for a classroom, remembered on this device. */

import { html } from "htm/preact";
import { msg } from "../../shared/words/msg.js";

const NAME = "kvscope.large-type";

/** @param {{getItem: Function}} settings of `storageOr` @returns {boolean} whether this device shows lessons in large type */
export const isLarge = (settings) => settings.getItem(NAME) === "1";

/** @param {{large: boolean, setLarge: (large: boolean) => void, settings: Object}} props */
export function LargeType({ large, setLarge, settings }) {
  const toggle = () => {
    settings.setItem(NAME, large ? "0" : "1");
    setLarge(!large);
  };
  return html`<button type="button" class="lesson-tool" aria-pressed=${large} onClick=${toggle}>${msg`Large type`}</button>`;
}
