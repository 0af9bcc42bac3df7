/** A pointer that does not move selects nothing, even if the page moves under it. */

const POINTING = ["pointermove", "pointerover", "pointerenter", "mousemove", "mouseover"];

/**
 * Suppresses the pointer events that a browser sends when the page moves under a resting pointer, until the pointer moves.
 *
 * @param {Window} window
 * @param {{clientX: number, clientY: number}} at where it rests
 */
export function untilPointerMoves(window, { clientX, clientY }) {
  const listen = { capture: true };
  const end = () => {
    for (const name of POINTING) window.removeEventListener(name, onPointer, listen);
  };
  const onPointer = (event) => {
    if (event.clientX === clientX && event.clientY === clientY) event.stopImmediatePropagation();
    else end();
  };
  for (const name of POINTING) window.addEventListener(name, onPointer, listen);
}
