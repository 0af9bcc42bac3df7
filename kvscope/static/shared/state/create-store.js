/** The store of a page: its state and its subscribers. */

/**
 * @template State
 * @param {State} initial
 * @param {(state: State, action: Object) => State} reduce pure
 * @returns {{state: () => any, dispatch: (action: any) => void, subscribe: (listener: (state: any) => void) => () => void}}
 *   `subscribe` returns the function that unsubscribes
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
 * Applies an action.
 *
 * @param {Object<string, (state: any, action: any) => Object>} reducers return the changed fields, by type of action
 * @returns {Object} the next state. @throws {RangeError} for an unknown action
 */
export function changed(reducers, state, action) {
  const reducer = reducers[action.type];
  if (!reducer) throw new RangeError(`no action ${action.type}`);
  return { ...state, ...reducer(state, action) };
}
