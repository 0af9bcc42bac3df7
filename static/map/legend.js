/** What the map's colours mean: four words, one scale of attention, scales of length, and the Q that does not stay. */

import { html } from "htm/preact";
import { gradient } from "../draw/theme.js";

export function MapLegend({ geometry, ranges, withQueries, theme }) {
  const { x0, x1 } = geometry.attention;
  const place = geometry.compact ? "" : `left:${x0}px;top:${geometry.bottom + 8}px;width:${x1 - x0}px`;
  return html`<div class=${`map-legend ${geometry.compact ? "is-below" : ""}`} style=${place}>
    <div class="legend-row">
      <span class="swatch swatch-cached">cached</span>
      <span class="swatch swatch-computed">computed now</span>
      <span class="swatch swatch-hollow">not kept</span>
      <span class="swatch swatch-output">output</span>
    </div>
    <div class="legend-row">
      <span class="scale"><i style=${`background:${gradient(theme.attentionNow.css)}`}></i>attention 0 → 1 (√ scale)</span>
    </div>
    ${
      withQueries &&
      html`<div class="legend-row" title="one cell per head, its colour the length of q; log scale">
        <span class="scale scale-short"><b>Q</b><i style=${`background:${gradient(theme.computedCell.css)}`}></i></span>
        used once while its layer runs, not kept
      </div>`
    }
    <div class="legend-row legend-norms" title="lengths of the residual row, of k and of v; log scale">
      <${Norm} name="row" range=${ranges?.residual} colours=${theme.computedCell.css} />
      <${Norm} name="k" range=${ranges?.k} colours=${theme.cachedK.css} />
      <${Norm} name="v" range=${ranges?.v} colours=${theme.cachedV.css} />
    </div>
  </div>`;
}

function Norm({ name, range, colours }) {
  return html`<span class="scale scale-short">
    ${name} ${range && brief(range.low)}<i style=${`background:${gradient(colours)}`}></i>${range && brief(range.high)}
  </span>`;
}

/** Ends of a scale have two significant digits already. */
function brief(value) {
  return value >= 1000 ? `${value / 1000}k` : String(value);
}
