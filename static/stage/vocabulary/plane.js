/** Rows of the embedding table as dots with their words, in the plane that keeps most of what tells them apart. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { tokenLabel } from "../../shared/facts/format.js";
import { useSize } from "../../shared/ui/use-size.js";
import { laidOut } from "./plane-layout.js";

const HEIGHT = 300;
const LETTER_PX = 7.3;
const LABEL_CHARS = 12;

/** @param {{tokens: Object[], points: number[][]}} props the first is the one that the others are near to */
export function Plane({ tokens, points }) {
  const [ref, size] = useSize();
  return html`<div class="embedding-plane" ref=${ref}>
    ${size && html`<${Drawing} tokens=${tokens} points=${points} width=${size.width} />`}
  </div>`;
}

function Drawing({ tokens, points, width }) {
  const labels = useMemo(() => tokens.map((token) => tokenLabel(token, LABEL_CHARS)), [tokens]);
  const box = { width, height: HEIGHT, letter: LETTER_PX };
  const places = useMemo(() => laidOut(points, labels, box), [points, labels, width]);
  return html`<svg width=${width} height=${HEIGHT} role="img" aria-label=${`Projection of ${labels[0]} and the ${labels.length - 1} rows nearest to it`}>
    ${places.map(
      ({ x, y, left, baseline }, index) => html`<g key=${index} class=${index === 0 ? "is-asked" : ""}>
        <circle cx=${x} cy=${y} r=${index === 0 ? 5 : 3.5} />
        <text x=${left} y=${baseline} direction="ltr">${labels[index]}</text>
      </g>`,
    )}
  </svg>`;
}
