/** How much of its attention each head loses: a column per layer, a row per head. A click selects the head. */

import { html } from "htm/preact";
import { useCallback, useState } from "preact/hooks";
import { percent } from "../../../../shared/facts/format.js";
import { Surface } from "../../../../shared/ui/surface.js";
import { pointInside, useRatio, useSize } from "../../../../shared/ui/use-size.js";
import { useTheme } from "../../../../shared/ui/use-theme.js";
import { msg } from "../../../../shared/words/msg.js";

const MOST_CELL_PX = 14;
const ROOM_PX = 126;

/** @param {{run: Object, loss: Object, selection: Object, onSelect: (layer: number, head: number) => void}} props `loss`: of `lossOf` */
export function LostHeads({ run, loss, selection, onSelect }) {
  const { layers, heads } = run;
  const [ref, size] = useSize();
  const [pointed, setPointed] = useState(null);
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const cell = { wide: Math.min(MOST_CELL_PX, width / layers), high: Math.min(MOST_CELL_PX, ROOM_PX / heads) };
  const height = Math.round(cell.high * heads);
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, width, height);
      loss.byHead.forEach((share, at) => {
        const [layer, head] = [Math.floor(at / heads), at % heads];
        context.fillStyle = theme.attention.css[Math.round(255 * Math.min(1, share))];
        context.fillRect(layer * cell.wide, head * cell.high, cell.wide - 1, cell.high - 1);
      });
    },
    [loss, theme, width, height],
  );
  const onPointerMove = (event) => {
    const { x, y } = pointInside(event);
    const within = (value, count) => Math.min(Math.max(Math.floor(value), 0), count - 1);
    setPointed({ layer: within(x / cell.wide, layers), head: within(y / cell.high, heads) });
  };
  const { layer, head } = pointed ?? selection;
  const share = percent(loss.byHead[layer * heads + head], 0);
  const text = msg`Layer ${layer}, head ${head}: ${share} of its attention lost`;
  const mark = `left:${layer * cell.wide}px;top:${head * cell.high}px;width:${cell.wide}px;height:${cell.high}px`;
  return html`<figure class="lost-heads">
    <div
      class="anchor" role="img" aria-label=${`${msg`Attention lost by each head; a column per layer`}. ${text}`} ref=${ref} style=${`height:${height}px`}
      onPointerMove=${onPointerMove} onPointerLeave=${() => setPointed(null)} onClick=${() => onSelect(layer, head)}
    >
      ${width > 0 && html`<${Surface} width=${width} height=${height} ratio=${ratio} draw=${draw} />`}
      <i class="twice-mark untouched" style=${mark}></i>
    </div>
    <figcaption class="muted small">${text}</figcaption>
  </figure>`;
}
