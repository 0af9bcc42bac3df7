/** Vectors painted as lines of tiles, one above the other, over the whole width of their element. */

import { useSize } from "../../../shared/ui/use-size.js";
import { useTheme } from "../../../shared/ui/use-theme.js";
import { paintTiles } from "../../draw/tiles.js";
import { usePicture } from "../use-picture.js";

/** CSS pixels. */
const TILES = { lineHeight: 13, lineGap: 5 };

/**
 * Paints vectors as lines of tiles over the width of an element.
 *
 * @param {(ArrayLike<number>|null)[]} vectors equally long; null: not loaded yet, and nothing is painted
 * @param {number[]|null} [order] the dimensions from left to right; null: in their own order
 * @returns {{ref: Object, width: number, height: number, surface: Object|null}} `ref`: of the element that sets the width;
 *   `surface`: props of `Surface`
 */
export function useTiles(vectors, order = null) {
  const [ref, size] = useSize();
  const theme = useTheme();
  const width = size?.width ?? 0;
  const height = vectors.length * (TILES.lineHeight + TILES.lineGap) - TILES.lineGap;
  const paint = (ratio) => {
    const lines = order ? vectors.map((values) => order.map((dimension) => values[dimension])) : vectors;
    return paintTiles(lines, { theme }, { ...TILES, width, ratio });
  };
  const surface = usePicture({ width: vectors.every(Boolean) ? width : 0, height }, paint, [...vectors, order, theme]);
  return { ref, width, height, surface };
}
