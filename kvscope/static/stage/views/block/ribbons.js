/** The flow of data: amber is computed in this step, blue is read from the cache, green is output. SVG under the canvas. */

import { html } from "htm/preact";
import { wholeRows } from "./draw/boxes.js";

/** Offset between the sheets that show several rows at once. */
const SHEET_PX = 3;

export function BlockRibbons({ geometry, scene }) {
  const { width, height, ribbons, boxes, columns, zone } = geometry;
  // Where the cache was empty before, this step itself computed what is read.
  const toneOf = (tone) => (tone === "cached" && !scene.cachedBefore ? "computed" : tone);
  return html`<svg class="block-ribbons" width=${width} height=${height} aria-hidden="true">
    ${zone && html`<rect class="block-zone" ...${zone} rx="8" />`}
    ${ribbons.map(({ tone, path, band }) =>
      band
        ? html`<path class=${`block-band is-${toneOf(tone)}`} d=${path} stroke-width=${band} />`
        : html`<path class=${`block-ribbon is-${toneOf(tone)}`} d=${path} />`,
    )}
    ${scene.rows > 1 && wholeRows(boxes).map((box) => html`<${Sheets} ...${box} />`)}
    ${boxes.map(
      (box) => html`<rect
      class=${`block-plate ${box.tensor in scene.values ? "" : "is-empty"}`}
      x=${box.x - 0.5} y=${box.y - 0.5} width=${(box.kind === "tile" ? box.width : columns.width) + 1}
      height=${box.height + 1}
    />`,
    )}
  </svg>`;
}

function Sheets({ x, y, width, height }) {
  return [2, 1].map(
    (sheet) => html`<rect
    class="block-sheet" x=${x + sheet * SHEET_PX} y=${y - sheet * SHEET_PX} width=${width} height=${height}
  />`,
  );
}
