/** Keeps the page's address and its state the same: `/?run=<id>#step=3&layer=13…`. */

import { formatHash, parseHash, runOfSearch } from "./location.js";

/** Browsers refuse too many changes of the address in a row; one in this many ms is enough, in ms. */
const WRITE_MS = 300;

export function readAddress({ search, hash }) {
  return { run: runOfSearch(search), link: parseHash(hash) };
}

/** @returns {string} the address of what is shown; null while there is nothing worth a link */
export function addressOf({ run, step, selection, present }) {
  if (!run?.steps.length) return null;
  return `/?run=${encodeURIComponent(run.id)}${present ? "&present=1" : ""}${formatHash({ step, ...selection })}`;
}

/**
 * Writes the address as the state changes, and follows it when the viewer goes back or edits it.
 * A change of run is a new entry in the history; a change of step is not.
 *
 * @returns {() => void} stops both
 */
export function followAddress({ window, store, session }) {
  let timer = null;

  const write = () => {
    timer = null;
    const address = addressOf(store.state());
    if (address === null) return;
    const before = readAddress(window.location).run;
    const sameRun = before === null || before === store.state().run.id;
    window.history[sameRun ? "replaceState" : "pushState"](null, "", address);
  };

  const onState = () => {
    timer ??= setTimeout(write, WRITE_MS);
  };

  const onMove = () => {
    const { run, link } = readAddress(window.location);
    clearTimeout(timer);
    timer = null;
    if (run && run !== store.state().run?.id) session.visit(run, link);
    else session.applyLink(link);
  };

  const unsubscribe = store.subscribe(onState);
  window.addEventListener("popstate", onMove);
  return () => {
    unsubscribe();
    clearTimeout(timer);
    window.removeEventListener("popstate", onMove);
  };
}
