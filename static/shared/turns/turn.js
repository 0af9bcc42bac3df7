/** A part of the page that is rendered when its turn comes. */

import { html } from "htm/preact";
import { createContext } from "preact";
import { useCallback, useContext, useLayoutEffect, useRef, useState } from "preact/hooks";

/** Whether a part shows all that has happened by now. Its turn may be long in coming, on a page that has much to show. */
const Current = createContext(() => true);

/** @returns {() => boolean} whether the part that this stands in shows the newest state, but for the clock */
export function useIsCurrent() {
  return useContext(Current);
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
 * @param {(state: Object) => *} choose a function that stays the same
 * @returns {*} what it chose of the state as of that turn. Its component is rendered again only when that is another.
 */
export function useChoice(turns, turn, choose) {
  const [choice, setChoice] = useState(() => choose(turns.state()));
  useLayoutEffect(() => {
    const show = (state) => setChoice(() => choose(state));
    show(turns.state());
    return turns.join(turn, show);
  }, [turns, turn, choose]);
  return choice;
}

/**
 * A component, `of`, with the state. It holds that itself: were it handed down from above, all parts would be compared
 * at each turn of one, and what each keeps of its last rendering would keep the whole page's of that time.
 */
export function Turn({ of: Part, turns, turn, moving, ...props }) {
  const state = useTurn(turns, turn, moving);
  const shown = useRef(state);
  shown.current = state;
  const isCurrent = useCallback(() => !differs(shown.current, turns.state()), [turns]);
  return html`<${Current.Provider} value=${isCurrent}><${Part} state=${state} ...${props} /><//>`;
}

function differs(before, after) {
  return Object.keys(after).some((name) => after[name] !== before[name] && !EVERY_FRAME.includes(name));
}
