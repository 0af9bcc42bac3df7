/** Keeps the page's address and its state the same: `/?run=<id>#step=3&layer=13…`, `/s/<id>#step=3…` for a saved run, `#step=3…` in a file. */

import { formatHash, parseHash, runOfSearch, savedOfPath } from "./location.js";

/** Browsers refuse too many changes of the address in a row; one in this many ms is enough, in ms. */
const WRITE_MS = 300;

/** @param {{id: string, run: string}|null} saved the saved session that the page was opened with */
export function readAddress({ pathname, search, hash }, saved = null) {
  const ofSaved = saved && (saved.file || savedOfPath(pathname) === saved.id) ? saved.run : null;
  return { run: ofSaved ?? runOfSearch(search), link: parseHash(hash) };
}

/** @returns {string} the address of what is shown; null while there is nothing worth a link */
export function addressOf({ run, step, selection, present }) {
  if (!run?.steps.length) return null;
  const hash = formatHash({ step, ...selection });
  if (run.saved?.file) return hash;
  if (run.saved) return `/s/${run.saved.id}${present ? "?present=1" : ""}${hash}`;
  return `/?run=${encodeURIComponent(run.id)}${present ? "&present=1" : ""}${hash}`;
}

/**
 * Writes the address as the state changes, and follows it when the viewer goes back or edits it.
 * A change of run is a new entry in the history; a change of step is not.
 *
 * @returns {() => void} stops both
 */
export function followAddress({ window, store, session, saved = null }) {
  let timer = null;

  const write = () => {
    timer = null;
    const address = addressOf(store.state());
    if (address === null) return;
    const before = readAddress(window.location, saved).run;
    const sameRun = before === null || before === store.state().run.id;
    window.history[sameRun ? "replaceState" : "pushState"](null, "", address);
  };

  const onState = () => {
    timer ??= setTimeout(write, WRITE_MS);
  };

  const onMove = () => {
    const { run, link } = readAddress(window.location, saved);
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
