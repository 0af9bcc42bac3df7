/** Vectors painted as lines of tiles, one above the other, over the whole width of their element. */

import { useCallback, useMemo } from "preact/hooks";
import { imageOf } from "../../../shared/ui/surface.js";
import { useRatio, useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { paintTiles } from "../../draw/tiles.js";

/** CSS pixels. */
const TILES = { lineHeight: 13, lineGap: 5 };

/**
 * @param {(ArrayLike<number>|null)[]} vectors equally long; null: not loaded yet, and nothing is painted
 * @param {number[]|null} [order] the dimensions from left to right; null: in their own order
 * @returns {{ref: Object, width: number, surface: {width: number, height: number, ratio: number, draw: Function}|null, height: number}}
 *   `ref`: of the element that sets the width; `surface`: props of `Surface`
 */
export function useTiles(vectors, order = null) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const ratio = useRatio();
  const width = size?.width ?? 0;
  const height = vectors.length * (TILES.lineHeight + TILES.lineGap) - TILES.lineGap;
  const painted = useMemo(() => {
    if (!width || vectors.some((values) => !values)) return null;
    const lines = order ? vectors.map((values) => order.map((dimension) => values[dimension])) : vectors;
    return imageOf(paintTiles(lines, { theme }, { ...TILES, width, ratio }));
  }, [...vectors, order, theme, width, ratio]);
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, width, height);
      context.drawImage(painted, 0, 0, width, height);
    },
    [painted, width, height],
  );
  return { ref, width, height, surface: painted && { width, height, ratio, draw } };
}
