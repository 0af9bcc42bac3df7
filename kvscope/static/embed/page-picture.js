/** A page other than the Stage as the picture of a lesson. Its address has its whole state, so the page reports its address. */

import { pathOf } from "../shared/log/root.js";
import { changed, storeOf } from "../shared/state/create-store.js";
import { followLit } from "../shared/ui/lit.js";
import { createPaper } from "./on-paper.js";
import { createPicture } from "./picture.js";
import { createSight } from "./sight.js";

/** Interval between checks of the address, in ms: browsers do not report when a page changes its own. */
const LOOK_MS = 200;

/** @returns {Object} the page's name, its address, and the parameters of both parts of it */
export function pageShows({ pathname, search, hash }, ...place) {
  const path = pathOf(pathname, ...place).replace(/^\/embed/, "");
  const fields = [...new URLSearchParams(search), ...new URLSearchParams(hash.replace(/^#/, ""))];
  return {
    page: path.split("/")[1],
    address: `${path}${search}${hash}`,
    ...Object.fromEntries(fields.map(([name, text]) => [name, /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text])),
  };
}

/** The lit names, and the names under the pointer. */
const LIT = {
  lit: (_state, { names }) => ({ lit: names }),
  point: (_state, { names }) => ({ pointed: names }),
};

/** @returns {{state: () => {lit: string[], pointed: string[]}, dispatch: Function, subscribe: Function}} the page outlines its names */
export function litStore() {
  const store = storeOf({ lit: [], pointed: [] }, (state, action) => changed(LIT, state, action));
  followLit(document, store);
  return store;
}

/**
 * @param {{window: Window, setTheme: (theme: string) => void, lights: {state: Function, dispatch: Function}, hasEnded: () => boolean}} parts
 *   `hasEnded`: whether the page shows a complete result, not one that is still being computed
 * @returns {() => void} ends the exchange
 */
export function joinLesson({ window, setTheme, lights: store, hasEnded }) {
  document.documentElement.dataset.lesson = "true";
  const sight = createSight(window);
  const picture = createPicture({
    window,
    read: () => ({ ...pageShows(window.location), ended: hasEnded(), lit: store.state().pointed }),
    commands: {
      theme: ({ theme }) => setTheme(theme),
      paper: createPaper(window, (message) => picture.send(message)),
      lit({ names }) {
        store.dispatch({ type: "lit", names });
        sight.show(document, names);
      },
    },
  });
  picture.tell();
  const timer = window.setInterval(picture.tell, LOOK_MS);
  return () => {
    window.clearInterval(timer);
    picture.dispose();
    sight.end();
  };
}
