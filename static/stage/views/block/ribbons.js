/** What flows where: amber is computed in this step, blue is read from the shelf, green leaves. SVG under the canvas. */

import { html } from "htm/preact";
import { wholeRows } from "./draw/boxes.js";

/** How far a sheet stands out behind the one before it, when several rows go through at once. */
const SHEET_PX = 3;

export function BlockRibbons({ geometry, scene }) {
  const { width, height, ribbons, boxes, columns, zone } = geometry;
  // Where nothing was on the shelf before, what is read there was computed in the same step.
  const toneOf = (tone) => (tone === "cached" && !scene.stood ? "computed" : tone);
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
