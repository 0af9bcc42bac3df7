/** Keys pressed anywhere on a page, except those that the focused element uses. */

/**
 * Elements that use certain keys themselves.
 *
 * @type {[string, (key: string) => boolean][]}
 */
// Not language: selectors.
const OWN_KEYS = [
  ["textarea, select, dialog, input:not([type=range], [type=checkbox])", () => true],
  ["button, input[type=checkbox], a, summary", (key) => key === " "],
  [
    "input[type=range], [role=grid], [role=group][tabindex]",
    (key) => key.startsWith("Arrow") || key === "Home" || key === "End",
  ],
];

/** @returns {boolean} whether the element uses that key itself */
function isTaken({ target, key, defaultPrevented, ctrlKey, metaKey, altKey }) {
  if (defaultPrevented || ctrlKey || metaKey || altKey) return true;
  return OWN_KEYS.some(([selector, has]) => target.closest?.(selector) && has(key));
}

/**
 * @param {{keys: string[], run: (parts: Object) => void}[]} table of the page: `KeyboardEvent.key` values and their actions
 * @returns {() => void} removes the listener
 */
export function listenToKeys(target, parts, table) {
  const onKey = (event) => {
    if (isTaken(event)) return;
    const key = table.find(({ keys }) => keys.includes(event.key));
    if (!key) return;
    event.preventDefault();
    key.run(parts);
  };
  target.addEventListener("keydown", onKey);
  return () => target.removeEventListener("keydown", onKey);
}
