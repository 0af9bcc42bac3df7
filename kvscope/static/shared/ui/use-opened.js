/** A menu that a button opens; it closes with Escape and when the pointer or the focus goes elsewhere. */

import { useLayoutEffect, useState } from "preact/hooks";

/**
 * @param {{current: HTMLElement}} root of the menu, with its button
 * @returns {[boolean, (open: boolean) => void, (event: KeyboardEvent) => void]} whether it is open, its setter, and the
 *   handler of its keys
 */
export function useOpened(root) {
  const [open, setOpen] = useState(false);
  // Before the browser paints: the focus may move as soon as the menu is visible.
  useLayoutEffect(() => {
    if (!open) return undefined;
    const onElsewhere = (event) => root.current.contains(event.target) || setOpen(false);
    for (const input of ["pointerdown", "focusin"]) window.addEventListener(input, onElsewhere, true);
    return () => {
      for (const input of ["pointerdown", "focusin"]) window.removeEventListener(input, onElsewhere, true);
    };
  }, [open]);
  const onKeyDown = (event) => {
    if (event.key !== "Escape" || !open) return;
    event.stopPropagation();
    setOpen(false);
    root.current.querySelector("button").focus();
  };
  return [open, setOpen, onKeyDown];
}
