/** The size of a drawing, its pixel ratio, and the pointer's position in it. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useLater } from "../painting/later.js";

/** Heights are rounded down to this step, in px, so that a slightly higher line of text elsewhere does not redraw every drawing. */
const HEIGHT_STEP_PX = 4;

/**
 * @returns {[Object, {width: number, height: number}|null]} a ref, and the size of its element in CSS pixels; `height` in
 *   whole steps of HEIGHT_STEP_PX, none larger than the element
 */
export function useSize() {
  const ref = useRef(null);
  const [size, setSize] = useState(null);
  const later = useLater();
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    let next = null;
    let forget = () => {};
    // The observer also reports the first size; reading it here would force an extra layout. Drawing at a new size waits for a later
    // frame, because this one has already been laid out.
    const observer = new ResizeObserver(() => {
      const width = element.clientWidth;
      const height = Math.floor(element.clientHeight / HEIGHT_STEP_PX) * HEIGHT_STEP_PX;
      if (!width || !height || (next?.width === width && next.height === height)) return;
      const size = { width, height };
      next = size;
      forget();
      forget = later(() => setSize(size));
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
      forget();
    };
  }, [later]);
  return [ref, size];
}

/** @returns {number} device pixels per CSS pixel, updated when the window moves to another screen or is zoomed */
export function useRatio() {
  const [ratio, setRatio] = useState(() => window.devicePixelRatio || 1);
  useEffect(() => {
    const query = window.matchMedia(`(resolution: ${ratio}dppx)`);
    const changed = () => setRatio(window.devicePixelRatio || 1);
    query.addEventListener("change", changed);
    return () => query.removeEventListener("change", changed);
  }, [ratio]);
  return ratio;
}

/** @returns {{x: number, y: number}} the position of a pointer event inside the element that handles it */
export function pointInside(event) {
  const element = event.currentTarget;
  const box = element.getBoundingClientRect();
  // Large type zooms the page and the pointer's coordinates, but not the element's own lengths.
  const magnified = element.offsetWidth ? box.width / element.offsetWidth : 1;
  return { x: (event.clientX - box.left) / magnified, y: (event.clientY - box.top) / magnified };
}
