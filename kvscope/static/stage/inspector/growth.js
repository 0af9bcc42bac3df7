/**
 * A frame grows from the place that was pressed to the view that appears, and shrinks back to that place when the view around it
 * returns, so that nobody loses where they are. Only the frame moves: to scale a whole view drops frames where no GPU helps.
 */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext, useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { ZOOMS } from "../../shared/state/views.js";

const MOTION = { duration: 260, easing: "cubic-bezier(0.2, 0.7, 0.2, 1)" };
/** How long after a press a view may appear and still grow from it, in ms: its code may have to be loaded. */
const FRESH_MS = 1500;
/** What is larger than this in both directions, in CSS px, was not pressed as a whole: the view grows from the pointer. */
const LARGEST = 320;
const AROUND_POINTER = 24;
const PRESSES = ["pointerdown", "keydown"];

const Pressed = createContext({ current: null });

/** Notes the place of each press, for the views inside. */
export function Presses({ children }) {
  const pressed = useRef(null);
  useEffect(() => {
    const note = (event) => {
      pressed.current = { place: placeOf(event), at: performance.now() };
    };
    for (const press of PRESSES) window.addEventListener(press, note, true);
    return () => {
      for (const press of PRESSES) window.removeEventListener(press, note, true);
    };
  }, []);
  return html`<${Pressed.Provider} value=${pressed}>${children}<//>`;
}

/**
 * @param {{current: HTMLElement|null}} ref the element of the shown view
 * @param {string} view its name
 * @param {boolean} still whether nothing may move
 */
export function useGrowth(ref, view, still) {
  const pressed = useContext(Pressed);
  const before = useRef(null);
  const places = useRef({});
  useLayoutEffect(() => {
    const from = before.current;
    if (!ref.current || from === view) return;
    before.current = view;
    const press = pressed.current;
    const grows = !isOutside(view, from);
    if (grows) places.current[view] = press && performance.now() - press.at < FRESH_MS ? press.place : null;
    const place = places.current[grows ? view : from];
    if (!place || still) return;
    const panel = ref.current.getBoundingClientRect();
    const frames = growth(place, panel);
    moveFrame(panel, grows ? frames : frames.toReversed());
  });
}

/** @returns {boolean} whether a view is around another one: a zoom further out, or any zoom around a panel */
export function isOutside(view, inner) {
  if (inner === null || !ZOOMS.includes(view)) return false;
  return !ZOOMS.includes(inner) || ZOOMS.indexOf(view) < ZOOMS.indexOf(inner);
}

/**
 * @param {{left: number, top: number, width: number, height: number}} place
 * @param {{left: number, top: number, width: number, height: number}} panel
 * @returns {Object[]} key frames of an element of the size of `panel` that grows from `place` and fades
 */
export function growth(place, panel) {
  const scale = Math.min(1, Math.max(place.width / panel.width, place.height / panel.height));
  const [x, y] = [place.left - panel.left, place.top - panel.top];
  return [
    { transformOrigin: "0 0", transform: `translate(${x}px, ${y}px) scale(${scale})`, opacity: 0.8 },
    { transformOrigin: "0 0", transform: "none", opacity: 0 },
  ];
}

/**
 * Shows a frame of a panel's size that moves as `frames` say; it is not clipped where the panel was elsewhere before. The motion
 * starts once the new view is painted, which takes longer than a frame.
 */
function moveFrame(panel, frames) {
  const frame = document.createElement("div");
  frame.className = "zoom-frame";
  for (const side of ["left", "top", "width", "height"]) frame.style[side] = `${panel[side]}px`;
  document.body.append(frame);
  const remove = () => frame.remove();
  const motion = frame.animate(frames, MOTION);
  motion.finished.then(remove, remove);
  motion.pause();
  requestAnimationFrame(() => requestAnimationFrame(() => motion.play()));
}

function placeOf({ target, clientX, clientY }) {
  const rect = target.getBoundingClientRect?.();
  if (rect && (rect.width < LARGEST || rect.height < LARGEST / 2)) return rect;
  if (clientX === undefined) return null;
  const side = AROUND_POINTER;
  return { left: clientX - side / 2, top: clientY - side / 2, width: side, height: side };
}
