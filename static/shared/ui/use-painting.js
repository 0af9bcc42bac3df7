/** Paints a picture part by part, a slice in each animation frame, so that a large one never holds the page up. */

import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";
import { IN_MEMORY } from "./surface.js";

/** Time for one slice of a painting, of the time that a frame has for all of the page. */
const SLICE_MS = 3;

/**
 * @param {Object} picture a new object is a new picture, so memoise it
 * @param {number} picture.width in device pixels, like `height`
 * @param {number} picture.parts
 * @param {(target: {data: Uint32Array, width: number, height: number}, part: number) => {y0: number, y1: number}}
 *   picture.paint paints a part over whatever was in its pixel rows, and returns these
 * @param {string|null} picture.continues pictures of one name and size are alike: until a part is painted, the earlier
 *   picture's is shown. null: nothing is.
 * @returns {{image: HTMLCanvasElement, painted: number}} `painted`: how many parts are on the image. Pictures of one
 *   size are painted on one image, one after the other.
 */
export function usePainting(picture) {
  const before = useRef(null);
  const [, setPainted] = useState(0);
  const later = useLater();
  const painting = useMemo(() => begin(picture, before.current), [picture]);
  before.current = painting;

  // Taken back at once: what is left of an earlier picture must not come over this one, which has the same pixels.
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

/** Making a canvas and its pixels anew for every step would be most of the work. */
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

/** Paints as many of the parts that are left as a slice allows, one at least. */
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
