/** A picture of pixels that is painted again when what it shows changes. */

import { useCallback, useMemo } from "preact/hooks";
import { imageOf } from "../../shared/ui/surface.js";
import { useRatio } from "../../shared/ui/use-size.js";

/**
 * Paints a picture, and again when one of its inputs changes.
 *
 * @param {{width: number, height: number}} size CSS pixels; without a width, nothing is painted
 * @param {(ratio: number) => {data: Uint32Array, width: number, height: number}} paint for `ratio` device pixels per CSS pixel
 * @param {any[]} inputs of `paint`
 * @returns {{width: number, height: number, ratio: number, draw: (context: CanvasRenderingContext2D) => void}|null} props of
 *   `Surface`; null before it is painted
 */
export function usePicture({ width, height }, paint, inputs) {
  const ratio = useRatio();
  const image = useMemo(() => (width ? imageOf(paint(ratio)) : null), [...inputs, width, height, ratio]);
  const draw = useCallback(
    (context) => {
      context.clearRect(0, 0, width, height);
      context.drawImage(image, 0, 0, width, image.height / ratio);
    },
    [image, width, height, ratio],
  );
  return image && { width, height, ratio, draw };
}
