/** Words as dots with labels in the plane that keeps most of their variance. */

import { html } from "htm/preact";
import { laidOut } from "../../shared/draw/plane-layout.js";
import { useSize } from "../../shared/ui/use-size.js";
import { msg } from "../../shared/words/msg.js";

const HEIGHT = 380;
const LETTER_PX = 8.2;

/** @param {{words: string[], points: number[][]}} props */
export function Drawing({ words, points }) {
  const [ref, size] = useSize();
  const width = size?.width ?? 0;
  const places = width > 0 ? laidOut(points, words, { width, height: HEIGHT, letter: LETTER_PX }) : [];
  return html`<div class="words-plane" ref=${ref}>
    ${
      width > 0 &&
      html`<svg width=${width} height=${HEIGHT} role="img" aria-label=${msg`Projection of ${words.join(", ")} to a plane`}>
        ${places.map(
          ({ x, y, left, baseline }, at) => html`<g key=${words[at]}>
            <circle cx=${x} cy=${y} r="4.5" />
            <text x=${left} y=${baseline}>${words[at]}</text>
          </g>`,
        )}
      </svg>`
    }
  </div>`;
}
