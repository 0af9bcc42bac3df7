/** Parts of the page that show the store's state, updated by the page's painting queue. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";
import { useLater } from "./later.js";

/** Provides the page's store to every component. */
export const Store = createContext(null);

/** Fields that the clock changes on every frame; most parts show neither. */
const EVERY_FRAME = ["progress", "reveal"];

/**
 * @param {(state: Object) => *} choose selects a part of the state; a stable function, like `isNews`
 * @param {boolean} urgent whether it is shown in the next frame, before other jobs
 * @param {(before: *, after: *) => boolean} [isNews] whether a change is shown
 * @returns {*} the chosen part of the state at the component's last update
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

/** @returns {*} the result of `choose`. The component renders again only when it changes. */
export const useChoice = (choose) => useShown(choose, true);

/**
 * Renders the component `of` with the state. Each part holds the state itself: passed down as a prop, every update would compare all
 * parts, and the last rendering of each part would keep the whole page's old state in memory.
 *
 * `moving`: whether a change of the clock alone renders it; `urgent`: it is shown in the next frame, before other jobs.
 */
export function Part({ of: Shown, moving = false, urgent = false, ...props }) {
  const state = useShown(wholeState, urgent, moving ? differ : differsAtRest);
  return html`<${Shown} state=${state} ...${props} />`;
}

const wholeState = (state) => state;

const differ = (before, after) => before !== after;

function differsAtRest(before, after) {
  return Object.keys(after).some((name) => after[name] !== before[name] && !EVERY_FRAME.includes(name));
}
