/** A pointer that rests points at nothing: what comes to lie under it was not chosen. */

const POINTING = ["pointermove", "pointerover", "pointerenter", "mousemove", "mouseover"];

/**
 * Keeps from the page what a browser says of a pointer when the page has moved under it, until it moves itself.
 *
 * @param {Window} window
 * @param {{clientX: number, clientY: number}} at where it rests; of a key's press it is nowhere
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
