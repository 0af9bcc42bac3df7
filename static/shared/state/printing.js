/** The page on paper: laid out for a sheet and in light colours before it is printed, as it was afterwards. */

/** The maps are laid out and painted anew, which takes some frames, in ms. */
const SETTLE_MS = 500;

/**
 * Ctrl+P and ⌘P wait until everything is painted for paper. Printing from the browser's menu cannot be made to wait: the
 * page is laid out for paper then too, but the maps keep the size and the colours they had.
 *
 * @param {{state: Function, dispatch: Function}} store
 * @returns {() => void} removes the listeners
 */
export function listenToPrint(window, store) {
  let themeBefore = null;

  const prepare = () => {
    if (themeBefore !== null) return;
    themeBefore = store.state().theme;
    store.dispatch({ type: "theme", theme: "light" });
    store.dispatch({ type: "printing", printing: true });
  };
  const restore = () => {
    if (themeBefore === null) return;
    store.dispatch({ type: "theme", theme: themeBefore });
    store.dispatch({ type: "printing", printing: false });
    themeBefore = null;
  };
  const onKey = (event) => {
    if (event.key !== "p" || !(event.ctrlKey || event.metaKey) || event.shiftKey || event.altKey) return;
    event.preventDefault();
    prepare();
    window.setTimeout(() => window.print(), SETTLE_MS);
  };

  const listeners = { keydown: onKey, beforeprint: prepare, afterprint: restore };
  for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener);
  return () => {
    for (const [name, listener] of Object.entries(listeners)) window.removeEventListener(name, listener);
  };
}
