/** Keeps a page's address and its state the same. */

/** Browsers refuse too many changes of the address in a row (Safari: over 100 in 30 s), and each one costs them some ms. */
const WRITE_MS = 300;
/** The same while a run moves by itself: what is copied then is passed before it is pasted. */
const MOVING_MS = 2000;

/**
 * Writes the address as the state changes, and follows it when the viewer goes back or edits it. Another run is a new entry
 * in the history; another place in it is not.
 * What a frame shows from `srcdoc`, as in a notebook's cell, has no address: browsers refuse to write one.
 *
 * @param {Object} parts
 * @param {Window} parts.window
 * @param {Object} parts.store
 * @param {(state: Object) => string|null} parts.addressOf null: there is nothing worth a link
 * @param {(state: Object) => string|null} parts.runOf the run that this address names
 * @param {(state: Object) => boolean} parts.isNew whether it is one beside the address that is there now
 * @param {(state: Object) => boolean} parts.isMoving whether the state changes by itself
 * @param {() => void} parts.onMove the viewer has changed the address
 * @returns {() => void} stops both
 */
export function keepAddress({ window, store, addressOf, runOf, isNew, isMoving, onMove }) {
  if (window.location.protocol === "about:") return () => {};
  let timer = null;
  let patient = false;
  let written = null;

  const write = () => {
    timer = null;
    const state = store.state();
    const address = addressOf(state);
    if (address === null) return;
    written = runOf(state);
    window.history[isNew(state) ? "pushState" : "replaceState"](null, "", address);
  };

  /** A run that is not named yet is not waited with: a page that is loaded again is to show it. */
  const canWait = (state) => runOf(state) === written && isMoving(state);

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
