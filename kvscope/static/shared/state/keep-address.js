/** Synchronizes a page's address with its state. */

/** Interval between changes of the address, in ms: browsers refuse frequent ones (Safari: over 100 in 30 s), and each takes some ms. */
const WRITE_MS = 300;
/** The same during playback, when nobody needs the exact address. */
const MOVING_MS = 2000;

/**
 * Writes the address when the state changes, and follows it when the viewer goes back or edits it. Another run is a new entry in the
 * history; another step or selection is not. A frame from `srcdoc`, as in a notebook's cell, has no address: browsers refuse to set one.
 *
 * @param {Object} parts
 * @param {Window} parts.window
 * @param {Object} parts.store
 * @param {(state: Object) => string|null} parts.addressOf null: nothing to link to
 * @param {(state: Object) => string|null} parts.runOf the run in this address
 * @param {(state: Object) => boolean} parts.isNew whether it differs from the current address
 * @param {(state: Object) => boolean} parts.isMoving whether the state changes by itself
 * @param {() => void} parts.onMove the viewer has changed the address
 * @returns {() => void} stops the synchronization
 */
export function keepAddress({ window, store, addressOf, runOf, isNew, isMoving, onMove }) {
  if (window.location.protocol === "about:") return () => {};
  let timer = null;
  let patient = false;
  let writtenRun = null;

  const write = () => {
    timer = null;
    const state = store.state();
    const address = addressOf(state);
    if (address === null) return;
    writtenRun = runOf(state);
    window.history[isNew(state) ? "pushState" : "replaceState"](null, "", address);
  };

  /** A new run is written at once, so that a reload shows it. */
  const canWait = (state) => runOf(state) === writtenRun && isMoving(state);

  const onState = () => {
    const waits = canWait(store.state());
    if (timer !== null && (waits || !patient)) return;
    clearTimeout(timer);
    patient = waits;
    timer = setTimeout(write, waits ? MOVING_MS : WRITE_MS);
  };

  const move = () => {
    clearTimeout(timer);
    timer = null;
    onMove();
  };

  const unsubscribe = store.subscribe(onState);
  window.addEventListener("popstate", move);
  return () => {
    unsubscribe();
    clearTimeout(timer);
    window.removeEventListener("popstate", move);
  };
}
