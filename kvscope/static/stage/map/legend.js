/** The map's colours: four labels, and the scales of the cells while the legend is hovered or focused. */

import { html } from "htm/preact";
import { gradient } from "../../shared/draw/theme.js";
import { msg } from "../../shared/words/msg.js";

/**
 * Shows four labels; there is no room for more. If rows were reused, the label of the weights is left out: they are only
 * small marks in the lens.
 *
 * @param {{geometry: Object, ranges: Object|null, theme: Object, reused: number}} props `reused`: rows that were read from the cache;
 *   `geometry.windows`: local layers drop K and V too
 */
export function MapLegend({ geometry, ranges, theme, reused }) {
  const { x0, x1 } = geometry.attention;
  const place = geometry.compact ? "" : `left:${x0}px;top:${geometry.bottom + 24}px;width:${x1 - x0 + 24}px`;
  return html`<div class=${`map-legend untouched muted small ${geometry.compact ? "is-below" : ""}`} style=${place}>
    <span><i class="swatch is-cached"></i>${msg`cached or input`}</span>
    <span><i class="swatch is-hollow"></i>${msg`dropped`}</span>
    <span><i class="swatch is-computed"></i>${msg`computed now`}</span>
    ${
      reused > 0
        ? html`<span><i class="swatch is-hollow is-cached"></i>${msg`reused`}</span>`
        : html`<span><i class="swatch is-weights"></i>${msg`learned weights`}</span>`
    }
    ${geometry.windows && geometry.compact && html`<span class="whole">● ${msg`global layer; the others are local`}</span>`}
    <div class="legend-scales anchor whole">
      <span class="scale"><i style=${`background:${gradient(theme.attentionNow.css)}`}></i>${msg`attention weight 0 to 1`}</span>
      <div class="legend-more popover nowrap" role="presentation">
        <p>${msg`The color of a weight follows its square root.`}</p>
        <p>${geometry.windows ? msg`Dropped: a residual row after its step, K and V of a local layer outside its window` : msg`Dropped: a residual row after its step`}</p>
        <p>${msg`Lengths of vectors, on logarithmic scales`}</p>
        <${Norm} name=${msg`row`} range=${ranges?.residual} colours=${theme.computedCell.css} />
        <${Norm} name="k" range=${ranges?.k} colours=${theme.cachedK.css} />
        <${Norm} name="v" range=${ranges?.v} colours=${theme.cachedV.css} />
      </div>
    </div>
  </div>`;
}

function Norm({ name, range, colours }) {
  return html`<span class="scale scale-short">
    ${name} ${range && brief(range.low)}<i style=${`background:${gradient(colours)}`}></i>${range && brief(range.high)}
  </span>`;
}

/** Formats the end of a scale, which `robustRange` has rounded to two significant digits. */
function brief(value) {
  return value >= 1000 ? `${value / 1000}k` : String(value);
}
