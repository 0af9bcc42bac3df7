/** What this machine can do, measured by the engine when asked. It is kept in the page alone; the last measurement stays in sight while the next is taken. */

import { useState } from "preact/hooks";

/** @param {() => Promise<Object>} take asks the engine; rejects with a sentence */
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
