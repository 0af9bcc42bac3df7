/** A part of the page that is rendered when its turn comes. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useContext, useLayoutEffect, useState } from "preact/hooks";

/** `later` of the page's turns, for all of the page. */
export const Later = createContext(null);

/** @returns {(job: () => void, how?: {anew?: boolean, spare?: boolean}) => () => void} as `later` of `createTurns` */
export function useLater() {
  return useContext(Later);
}

/** The clock changes these on every frame; most parts draw neither. */
const EVERY_FRAME = ["progress", "reveal"];

/**
 * @param {Object} turns as `createTurns` gives them
 * @param {string} turn
 * @param {boolean} moving whether a change of the clock alone is a change
 * @returns {Object} the store's state as of the part's last turn
 */
export function useTurn(turns, turn, moving = false) {
  const [state, setState] = useState(turns.state);
  useLayoutEffect(() => {
    const show = (next) => setState((old) => (moving || differs(old, next) ? next : old));
    show(turns.state());
    return turns.join(turn, show);
  }, [turns, turn, moving]);
  return state;
}

/**
 * A component, `of`, with the state. It holds that itself: were it handed down from above, all parts would be compared
 * at each turn of one, and what each keeps of its last rendering would keep the whole page's of that time.
 */
export function Turn({ of: Part, turns, turn, moving, ...props }) {
  const state = useTurn(turns, turn, moving);
  return html`<${Part} state=${state} ...${props} />`;
}

function differs(before, after) {
  return Object.keys(after).some((name) => after[name] !== before[name] && !EVERY_FRAME.includes(name));
}
