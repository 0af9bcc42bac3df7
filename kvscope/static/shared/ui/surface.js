/** A canvas that is redrawn when its drawing or size changes, or when the browser lost its content. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @param {{width: number, height: number, ratio: number, draw: (context: CanvasRenderingContext2D) => void, class?: string}} props
 *   `draw` works in CSS pixels; a new function causes a redraw, so memoise it. It is drawn in the layout effect, because
 *   the page renders once per animation frame and a later drawing would be one frame late. The canvas covers its parent
 *   unless `class` is set.
 */
export function Surface({ width, height, ratio, draw, class: className = "over" }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const canvas = ref.current;
    const show = () => redraw(canvas, { width, height, ratio, draw });
    show();
    canvas.addEventListener("contextrestored", show);
    return () => canvas.removeEventListener("contextrestored", show);
  }, [draw, width, height, ratio]);
  return html`<canvas ref=${ref} class=${`surface ${className}`} aria-hidden="true" style=${`width:${width}px;height:${height}px`}></canvas>`;
}

function redraw(canvas, { width, height, ratio, draw }) {
  const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== wide || canvas.height !== high) {
    canvas.width = wide;
    canvas.height = high;
  }
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.imageSmoothingEnabled = false;
  draw(context);
}

/** Options of a canvas that is painted once and drawn often: the browser keeps it in memory, so that a lost GPU does not clear it. */
export const IN_MEMORY = { willReadFrequently: true };

/** Returns painted pixels as an image that can be drawn many times. */
export function imageOf({ data, width, height }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const bytes = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d", IN_MEMORY));
  context.putImageData(new ImageData(bytes, width, height), 0, 0);
  return canvas;
}
