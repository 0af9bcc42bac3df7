/** Rows of the embedding table as dots with labels, in the plane that keeps most of their variance. */

import { html } from "htm/preact";
import { useMemo } from "preact/hooks";
import { laidOut } from "../../shared/draw/plane-layout.js";
import { tokenLabel } from "../../shared/facts/format.js";
import { useSize } from "../../shared/ui/use-size.js";
import { form, plural } from "../../shared/words/msg.js";

const HEIGHT = 300;
const LETTER_PX = 7.3;
const LABEL_CHARS = 12;

/** @param {{tokens: Object[], points: number[][]}} props `tokens`: the chosen one, then those nearest to it */
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
  const [token] = labels;
  const near = labels.length - 1;
  const label = plural(
    near,
    form`Projection of ${token} and the ${near} row nearest to it`,
    form`Projection of ${token} and the ${near} rows nearest to it`,
  );
  return html`<svg width=${width} height=${HEIGHT} role="img" aria-label=${label}>
    ${places.map(
      ({ x, y, left, baseline }, index) => html`<g key=${index} class=${index === 0 ? "is-chosen" : ""}>
        <circle cx=${x} cy=${y} r=${index === 0 ? 5 : 3.5} />
        <text x=${left} y=${baseline} direction="ltr">${labels[index]}</text>
      </g>`,
    )}
  </svg>`;
}
