/** Paints a picture part by part, some of it in each animation frame, so that a large one never holds the page up. */

import { useEffect, useMemo, useRef, useState } from "preact/hooks";

/** Time for painting in one frame of 16 ms. */
const BUDGET_MS = 7;

/**
 * @param {Object} picture a new object is a new picture, so memoise it
 * @param {number} picture.parts
 * @param {(target: Object, part: number) => {y0: number, y1: number}} picture.paint paints a part, returns its pixel rows
 * @param {string|null} picture.continues pictures of one name and size are alike: until a part is painted, the earlier
 *   picture's is shown. null: nothing is.
 * @param {Uint32Array} picture.data pixels, `width` × `height`
 * @returns {{image: HTMLCanvasElement, painted: number}} `painted`: how many parts are on the image
 */
export function usePainting(picture) {
  const before = useRef(null);
  const [, setPainted] = useState(0);
  const painting = useMemo(() => begin(picture, before.current), [picture]);
  before.current = painting;

  useEffect(() => {
    if (painting.painted === picture.parts) return undefined;
    const next = () => {
      paintOn(painting);
      setPainted((count) => count + 1);
      frame = painting.painted < picture.parts ? requestAnimationFrame(next) : 0;
    };
    let frame = requestAnimationFrame(next);
    return () => cancelAnimationFrame(frame);
  }, [painting]);

  return painting;
}

function begin(picture, before) {
  const image = document.createElement("canvas");
  image.width = picture.width;
  image.height = picture.height;
  const context = image.getContext("2d");
  const bytes = new Uint8ClampedArray(picture.data.buffer);
  const painting = { picture, image, context, pixels: new ImageData(bytes, picture.width, picture.height), painted: 0 };
  if (before && picture.continues !== null && alike(before.picture, picture)) context.drawImage(before.image, 0, 0);
  paintOn(painting);
  return painting;
}

function alike(a, b) {
  return a.continues === b.continues && a.width === b.width && a.height === b.height;
}

/** Paints as many of the parts that are left as the budget allows, one at least. */
function paintOn(painting) {
  const { picture, context, pixels } = painting;
  const end = performance.now() + BUDGET_MS;
  do {
    const { y0, y1 } = picture.paint(picture, painting.painted);
    context.putImageData(pixels, 0, 0, 0, y0, picture.width, y1 - y0);
    painting.painted += 1;
  } while (painting.painted < picture.parts && performance.now() < end);
}
