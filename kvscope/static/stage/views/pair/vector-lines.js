/** Vectors as lines of tiles with names, one above the other. */

import { html } from "htm/preact";
import { Surface } from "../../../shared/ui/surface.js";
import { useTiles } from "./use-tiles.js";

/** @param {{name: string, lines: {name: Object, values: ArrayLike<number>}[]}} props `name`: the accessible name */
export function VectorLines({ name, lines }) {
  const { ref, height, surface } = useTiles(lines.map(({ values }) => values));
  return html`<div class="dimensions" role="img" aria-label=${name}>
    <div class="dimension-names still" aria-hidden="true">${lines.map(({ name: of }) => html`<span>${of}</span>`)}</div>
    <div class="anchor grow" ref=${ref} style=${`height:${height}px`}>
      ${surface && html`<${Surface} ...${surface} />`}
    </div>
  </div>`;
}
