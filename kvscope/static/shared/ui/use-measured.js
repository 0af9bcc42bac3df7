/** The speed of this machine, measured by the engine on request. Only the page stores it; the last result stays visible until the next. */

import { useState } from "preact/hooks";

/** @param {() => Promise<Object>} take requests the measurement; rejects with a message */
export function useMeasured(take) {
  const [state, setState] = useState({ measured: null, going: false, problem: "" });
  const measure = async () => {
    setState((now) => ({ ...now, going: true, problem: "" }));
    try {
      setState({ measured: await take(), going: false, problem: "" });
    } catch (error) {
      setState((now) => ({ ...now, going: false, problem: error.message }));
    }
  };
  return { ...state, measure };
}
