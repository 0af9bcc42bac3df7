/** Lays the page out for paper, in light colours, before printing, and restores it afterwards. */

/** Time to lay out and paint the maps again, which takes several frames, in ms. */
const SETTLE_MS = 500;

/**
 * Ctrl+P and ⌘P wait until everything is painted for paper. Printing from the browser's menu cannot wait: the page is laid out for
 * paper, but the maps stay at their size and in their colours.
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
