/** Parts of the page that show the store's state when the page's painting queue comes to them. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";
import { useLater } from "./later.js";

/** The page's store, for all of the page. */
export const Store = createContext(null);

/** The clock changes these on every frame; most parts draw neither. */
const EVERY_FRAME = ["progress", "reveal"];

/**
 * @param {(state: Object) => *} choose like `isNews` a function that stays the same
 * @param {boolean} urgent whether that is shown in the next frame whatever else is due
 * @param {(before: *, after: *) => boolean} [isNews] of what was chosen: whether it is to be shown
 * @returns {*} what was chosen of the state as of the component's last turn in the queue
 */
function useShown(choose, urgent, isNews = differ) {
  const store = useContext(Store);
  const later = useLater();
  const [shown, setShown] = useState(() => choose(store.state()));
  useLayoutEffect(() => {
    let last = shown;
    let forget = null;
    const show = () => {
      forget = null;
      last = choose(store.state());
      setShown(() => last);
    };
    const look = (state) => {
      if (!forget && isNews(last, choose(state))) forget = later(show, urgent);
    };
    look(store.state());
    const unsubscribe = store.subscribe(look);
    return () => {
      unsubscribe();
      forget?.();
    };
  }, [store, later, choose, urgent, isNews]);
  return shown;
}

/** @returns {*} what `choose` makes of the state. Its component is rendered again only when that is another. */
export const useChoice = (choose) => useShown(choose, true);

/**
 * A component, `of`, with the state. It holds that itself: were it handed down from above, all parts would be compared
 * whenever one is due, and what each keeps of its last rendering would keep the whole page's of that time.
 *
 * `moving`: whether a change of the clock alone is a change; `urgent`: it is shown in the next frame, whatever else is due.
 */
export function Part({ of: Shown, moving = false, urgent = false, ...props }) {
  const state = useShown(whole, urgent, moving ? differ : differsAtRest);
  return html`<${Shown} state=${state} ...${props} />`;
}

const whole = (state) => state;

const differ = (before, after) => before !== after;

function differsAtRest(before, after) {
  return Object.keys(after).some((name) => after[name] !== before[name] && !EVERY_FRAME.includes(name));
}
