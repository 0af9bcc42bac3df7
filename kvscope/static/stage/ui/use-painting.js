/** Paints a picture part by part, a slice in each animation frame, so that a large one does not block the page. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLater } from "../../shared/painting/later.js";
import { IN_MEMORY } from "../../shared/ui/surface.js";

/** Time for one slice, a part of the frame's time for the whole page. */
const SLICE_MS = 3;

/**
 * @param {Object} picture a new object is a new picture, so memoise it
 * @param {number} picture.width in device pixels, like `height`
 * @param {number} picture.parts
 * @param {(target: {data: Uint32Array, width: number, height: number}, part: number) => {y0: number, y1: number}}
 *   picture.paint paints a part over its pixel rows, and returns these rows
 * @param {string|null} picture.continues pictures of the same name and size are similar: until a part is painted, the
 *   earlier picture's part is shown. null: nothing is shown.
 * @returns {{image: HTMLCanvasElement, painted: number}} `painted`: how many parts are on the image. Pictures of the
 *   same size reuse one image.
 */
export function usePainting(picture) {
  const before = useRef(null);
  const [, setPainted] = useState(0);
  const later = useLater();
  const painting = useMemo(() => begin(picture, before.current), [picture]);
  before.current = painting;

  // Cancelled at once: the remaining parts of an earlier picture must not overwrite this one, which uses the same pixels.
  useLayoutEffect(() => {
    if (painting.painted === picture.parts) return undefined;
    const next = () => {
      paintOn(painting);
      setPainted((count) => count + 1);
      if (painting.painted < picture.parts) forget = later(next);
    };
    let forget = later(next);
    return () => forget();
  }, [painting, later]);

  return painting;
}

function begin(picture, before) {
  const painting = { ...surfaceFor(picture, before), picture, painted: 0 };
  paintOn(painting);
  return painting;
}

/** Reuses canvas and pixels, because creating them for every step would take most of the time. */
function surfaceFor({ width, height, continues }, before) {
  if (before?.picture.width === width && before.picture.height === height) {
    const { image, context, target, pixels } = before;
    if (continues === null || before.picture.continues !== continues) context.clearRect(0, 0, width, height);
    return { image, context, target, pixels };
  }
  const image = document.createElement("canvas");
  image.width = width;
  image.height = height;
  const target = { data: new Uint32Array(width * height), width, height };
  const pixels = new ImageData(new Uint8ClampedArray(target.data.buffer), width, height);
  return { image, context: image.getContext("2d", IN_MEMORY), target, pixels };
}

/** Paints as many of the remaining parts as a slice allows, at least one. */
function paintOn(painting) {
  const { picture, context, target, pixels } = painting;
  const end = performance.now() + SLICE_MS;
  let [top, bottom] = [target.height, 0];
  do {
    const { y0, y1 } = picture.paint(target, painting.painted);
    [top, bottom] = [Math.min(top, y0), Math.max(bottom, y1)];
    painting.painted += 1;
  } while (painting.painted < picture.parts && performance.now() < end);
  context.putImageData(pixels, 0, 0, 0, top, target.width, bottom - top);
}
