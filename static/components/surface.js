/** A canvas that is redrawn once per animation frame when its drawing or size changes. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @param {{width: number, height: number, ratio: number, draw: (context: CanvasRenderingContext2D) => void}} props
 *   `draw` works in CSS pixels; a new function means a new drawing, so memoise it
 */
export function Surface({ width, height, ratio, draw }) {
  const ref = useRef(null);
  useLayoutEffect(() => {
    const frame = requestAnimationFrame(() => {
      const canvas = ref.current;
      if (!canvas) return;
      const [wide, high] = [Math.round(width * ratio), Math.round(height * ratio)];
      if (canvas.width !== wide || canvas.height !== high) {
        canvas.width = wide;
        canvas.height = high;
      }
      const context = canvas.getContext("2d");
      context.setTransform(ratio, 0, 0, ratio, 0, 0);
      context.imageSmoothingEnabled = false;
      draw(context);
    });
    return () => cancelAnimationFrame(frame);
  }, [draw, width, height, ratio]);
  return html`<canvas ref=${ref} class="surface" aria-hidden="true" style=${`width:${width}px;height:${height}px`}></canvas>`;
}

/** Painted pixels as an image that can be drawn many times. */
export function imageOf({ data, width, height }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const bytes = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
  canvas.getContext("2d").putImageData(new ImageData(bytes, width, height), 0, 0);
  return canvas;
}
