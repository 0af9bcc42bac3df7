/** Keeps the page's address and its state the same: `/?run=<id>#step=3&layer=13…`, `/s/<id>#step=3…` for a saved run, `#step=3…` in a file. */

import { under } from "../log/root.js";
import { formatHash, parseHash, runOfSearch } from "./location.js";
import { moves } from "./player.js";

/** Browsers refuse too many changes of the address in a row (Safari: over 100 in 30 s), and each one costs them some ms. */
const WRITE_MS = 300;
/** The same while a run moves by itself: what is copied then is passed before it is pasted. */
const MOVING_MS = 2000;

/** @returns {string} the path of a saved session's page */
const pageOf = ({ id }) => under(`/s/${id}`);

/**
 * @param {{pathname: string, search: string, hash: string}} location
 * @param {{id: string, run: string, file?: boolean}|null} saved the saved session that the page was opened with
 */
export function readAddress({ pathname, search, hash }, saved = null) {
  const ofSaved = saved && (saved.file || pathname === pageOf(saved)) ? saved.run : null;
  return { run: ofSaved ?? runOfSearch(search), link: parseHash(hash) };
}

/** @returns {string} the address of what is shown; null while there is nothing worth a link */
export function addressOf({ run, step, selection, present }) {
  if (!run?.steps.length) return null;
  const hash = formatHash({ step, ...selection });
  if (run.saved?.file) return hash;
  if (run.saved) return `${pageOf(run.saved)}${present ? "?present=1" : ""}${hash}`;
  return under(`/?run=${encodeURIComponent(run.id)}${present ? "&present=1" : ""}${hash}`);
}

/**
 * Writes the address as the state changes, and follows it when the viewer goes back or edits it.
 * A change of run is a new entry in the history; a change of step is not, nor is the run that a study's link leads to.
 * What a frame shows from `srcdoc`, as in a notebook's cell, has no address: browsers refuse to write one.
 *
 * @returns {() => void} stops both
 */
export function followAddress({ window, store, controller, saved = null }) {
  if (window.location.protocol === "about:") return () => {};
  let timer = null;
  let patient = false;
  let written = null;

  const write = () => {
    timer = null;
    const address = addressOf(store.state());
    if (address === null) return;
    const before = readAddress(window.location, saved).run;
    const { run, insteadOf } = store.state();
    written = run.id;
    // A study's own entry would lead here again, whenever somebody goes back to it.
    const sameRun = before === null || before === written || before === insteadOf;
    window.history[sameRun ? "replaceState" : "pushState"](null, "", address);
  };

  /** A run that is not named yet is not waited with: a page that is loaded again is to show it. */
  const canWait = (state) => state.run?.id === written && moves(state);

  const onState = () => {
    const waits = canWait(store.state());
    if (timer !== null && (waits || !patient)) return;
    clearTimeout(timer);
    patient = waits;
    timer = setTimeout(write, waits ? MOVING_MS : WRITE_MS);
  };

  const onMove = () => {
    const { run, link } = readAddress(window.location, saved);
    clearTimeout(timer);
    timer = null;
    if (run && run !== store.state().run?.id) controller.visit(run, link);
    else controller.applyLink(link);
  };

  const unsubscribe = store.subscribe(onState);
  window.addEventListener("popstate", onMove);
  return () => {
    unsubscribe();
    clearTimeout(timer);
    window.removeEventListener("popstate", onMove);
  };
}
