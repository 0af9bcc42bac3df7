/** A page's one store: its state, and who hears of each change. */

/**
 * @template State
 * @param {State} initial
 * @param {(state: State, action: Object) => State} reduce pure
 * @returns {{state: () => any, dispatch: (action: any) => void, subscribe: (listener: (state: any) => void) => () => void}}
 *   `subscribe` gives what unsubscribes
 */
export function storeOf(initial, reduce) {
  let state = initial;
  const listeners = new Set();
  return {
    state: () => state,
    dispatch(action) {
      state = reduce(state, action);
      for (const listener of [...listeners]) listener(state);
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/**
 * @param {Object<string, (state: any, action: any) => Object>} reducers what each action changes
 * @returns {Object} the state with that changed. @throws {RangeError} for an action there is not
 */
export function changed(reducers, state, action) {
  const reducer = reducers[action.type];
  if (!reducer) throw new RangeError(`no action ${action.type}`);
  return { ...state, ...reducer(state, action) };
}
