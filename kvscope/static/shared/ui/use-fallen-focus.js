/** Catches the focus when the element that has it leaves the page: from the body, the next Tab would begin at the top. */

import { useLayoutEffect } from "preact/hooks";

/** @param {() => HTMLElement|null|undefined} target gets the focus that fell with this rendering. The elements that go must be rendered after or in the caller */
export function useFallenFocus(target) {
  const had = document.activeElement !== document.body;
  useLayoutEffect(() => {
    if (had && document.activeElement === document.body) target()?.focus();
  });
}
