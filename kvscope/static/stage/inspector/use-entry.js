/** Keyboard focus follows the zoom: it moves into a view entered by key, and is not lost when its view goes. */

import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * A view marks the element that gets the focus with `data-entry`.
 *
 * @param {{current: HTMLElement|null}} ref the element of the shown view
 * @param {string} view its name
 * @param {number} entered the store's count of views entered by key
 */
export function useEntry(ref, view, entered) {
  const before = useRef({ view, entered });
  // Read before the old view is removed, because its focus is removed with it.
  const within = ref.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    const { view: from, entered: count } = before.current;
    before.current = { view, entered };
    if (entered === count && !(view !== from && within)) return;
    /** @type {HTMLElement|undefined} */ (ref.current?.querySelector("[data-entry]"))?.focus();
  }, [view, entered]);
}
