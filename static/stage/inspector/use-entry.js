/** Keyboard focus follows the zoom: into a view that was entered by key, and never lost with the view it was in. */

import { useLayoutEffect, useRef } from "preact/hooks";

/**
 * A view marks the element that focus comes to with `data-entry`.
 *
 * @param {{current: HTMLElement|null}} ref the element of the view in sight
 * @param {string} view its name
 * @param {number} entered the store's count of views entered by key
 */
export function useEntry(ref, view, entered) {
  const before = useRef({ view, entered });
  // Asked while the old view still stands: when it goes, the focus that was in it goes too.
  const within = ref.current?.contains(document.activeElement) ?? false;
  useLayoutEffect(() => {
    const { view: from, entered: count } = before.current;
    before.current = { view, entered };
    if (entered === count && !(view !== from && within)) return;
    /** @type {HTMLElement|undefined} */ (ref.current?.querySelector("[data-entry]"))?.focus();
  }, [view, entered]);
}
