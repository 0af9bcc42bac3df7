/** Vectors as named lines of tiles over one another. */

import { html } from "htm/preact";
import { useCallback, useMemo } from "preact/hooks";
import { paintTiles } from "../../../shared/draw/tiles.js";
import { imageOf, Surface } from "../../../shared/ui/surface.js";
import { useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";

const TILES = { lineHeight: 13, lineGap: 5 };

/** @param {{name: string, lines: {name: Object, values: ArrayLike<number>}[]}} props `name`: what is seen, in words */
export function VectorLines({ name, lines }) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const height = lines.length * (TILES.lineHeight + TILES.lineGap) - TILES.lineGap;
  const painted = useMemo(
    () =>
      width
        ? imageOf(
            paintTiles(
              lines.map(({ values }) => values),
              { theme },
              { ...TILES, width, ratio },
            ),
          )
        : null,
    [...lines.map(({ values }) => values), theme, width, ratio],
  );
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, width, height);
      context.drawImage(painted, 0, 0, width, height);
    },
    [painted, width, height],
  );
  return html`<div class="dimensions" role="img" aria-label=${name}>
    <div class="dimension-names still" aria-hidden="true">${lines.map(({ name: of }) => html`<span>${of}</span>`)}</div>
    <div class="grow" ref=${ref} style=${`height:${height}px`}>
      ${painted && html`<${Surface} class="" width=${width} height=${height} ratio=${ratio} draw=${draw} />`}
    </div>
  </div>`;
}
