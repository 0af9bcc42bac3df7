/** Dots with labels in a plane, such as rows of the embedding table. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { laidOut } from "../draw/plane-layout.js";
import { useSize } from "./use-size.js";

const HEIGHT_PX = 340;
const LETTER_PX = 7.3;

/**
 * @param {{labels: string[], points: number[][], name: string, hasChosen?: boolean}} props memoise `labels`; `points`: [x, y], y upwards;
 *   `name`: accessible name; `hasChosen`: whether the first dot is the chosen one
 */
export function Plane({ labels, points, name, hasChosen = false }) {
  const [ref, size] = useSize();
  const width = size?.width ?? 0;
  const places = useMemo(
    () => (width ? laidOut(points, labels, { width, height: HEIGHT_PX, letter: LETTER_PX }) : []),
    [points, labels, width],
  );
  return html`<div class="plane" ref=${ref}>
    ${
      width > 0 &&
      html`<svg width=${width} height=${HEIGHT_PX} role="img" aria-label=${name}>
        ${places.map(
          ({ x, y, left, baseline }, at) => html`<g key=${at} class=${hasChosen && at === 0 ? "is-chosen" : ""}>
            <circle cx=${x} cy=${y} r="4" />
            <text x=${left} y=${baseline} direction="ltr">${labels[at]}</text>
          </g>`,
        )}
      </svg>`
    }
  </div>`;
}
