/**
 * Synchronizes the page's address with its state: `/?run=<id>#step=3&layer=13…`, `/s/<id>#step=3…` for a saved run, `#step=3…` in a file.
 * On a page of a static site the hash also names each run that is not the page's own: `#step=3&layer=13…&run=<id>`.
 */

import { changeText } from "../../shared/facts/changes.js";
import { IN_SITE, pathOf, under } from "../../shared/log/root.js";
import { keepAddress } from "../../shared/state/keep-address.js";
import { formatHash, parseHash, runOfHash, runOfSearch } from "../../shared/state/location.js";
import { moves } from "../../shared/state/player.js";

/** @returns {string} the path of a saved session's page, from the root */
const pageOf = ({ id }) => `/s/${id}`;

/**
 * @param {{pathname: string, search: string, hash: string}} location
 * @param {{id: string, run: string, file?: boolean}|null} saved the saved session that the page was opened with
 */
export function readAddress({ pathname, search, hash }, saved = null, inSite = IN_SITE) {
  const named = inSite ? runOfHash(hash) : null;
  const stays = saved?.file || inSite;
  const ofSaved = saved && (stays || pathOf(pathname) === pageOf(saved)) ? saved.run : null;
  return { run: named ?? ofSaved ?? runOfSearch(search), link: parseHash(hash) };
}

/** @returns {string|null} the address of the current state; null before the first step of a run */
export function addressOf({ run, step, selection, code, changing, present }) {
  if (!run?.steps.length) return null;
  const change = changing?.open ? (changing.linked ?? changing.changes.map(changeText)) : [];
  const hash = formatHash({ step, ...selection, code, change });
  if (run.saved?.file) return hash;
  if (run.saved) return `${under(pageOf(run.saved))}${present ? "?present=1" : ""}${hash}`;
  return under(`/?run=${encodeURIComponent(run.id)}${present ? "&present=1" : ""}${hash}`);
}

/** @returns {string|null} the address as the page writes it. In a static site only the hash changes, so that its pages work from a disk. */
export function writtenAddress(state, inSite = IN_SITE) {
  const address = addressOf(state);
  if (address === null || !inSite) return address;
  const hash = address.replace(/^[^#]*/, "");
  return state.run.saved ? hash : `${hash}&run=${encodeURIComponent(state.run.id)}`;
}

/** Synchronizes both. A link to a twin or beam search opens its run without a new history entry: going back would open that link again. */
export function followAddress({ window, store, controller, saved = null }) {
  const there = () => readAddress(window.location, saved);
  return keepAddress({
    ...{ window, store, addressOf: writtenAddress, isMoving: moves },
    runOf: ({ run }) => run?.id ?? null,
    isNew({ run, insteadOf }) {
      const before = there().run;
      return before !== null && before !== run.id && before !== insteadOf;
    },
    onMove() {
      const { run, link: named } = there();
      const link = { focus: null, ...named };
      if (run && run !== store.state().run?.id) controller.visit(run, link);
      else controller.applyLink(link);
    },
  });
}
