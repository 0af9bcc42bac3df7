/** A canvas that is redrawn once per animation frame when its drawing or size changes. */

import { html } from "htm/preact";
import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * @param {{width: number, height: number, ratio: number, draw: (context: CanvasRenderingContext2D) => void}} props
 *   `draw` works in CSS pixels; a new function means a new drawing, so memoise it. A frame that is waited for is kept when
 *   another drawing comes before it: state that changes on every frame must not put the drawing off for ever.
 */
export function Surface({ width, height, ratio, draw }) {
  const ref = useRef(null);
  const latest = useRef(null);
  const frame = useRef(0);
  useLayoutEffect(() => {
    latest.current = { width, height, ratio, draw };
    frame.current ||= requestAnimationFrame(() => {
      frame.current = 0;
      redraw(ref.current, latest.current);
    });
  }, [draw, width, height, ratio]);
  useLayoutEffect(() => () => cancelAnimationFrame(frame.current), []);
  return html`<canvas ref=${ref} class="surface" aria-hidden="true" style=${`width:${width}px;height:${height}px`}></canvas>`;
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

/** Painted pixels as an image that can be drawn many times. */
export function imageOf({ data, width, height }) {
  const canvas = document.createElement("canvas");
  canvas.width = width;
  canvas.height = height;
  const bytes = new Uint8ClampedArray(data.buffer, data.byteOffset, data.byteLength);
  canvas.getContext("2d").putImageData(new ImageData(bytes, width, height), 0, 0);
  return canvas;
}
