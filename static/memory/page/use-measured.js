/** What this machine can do, measured by the engine when asked. It is kept in the page alone. */

import { useState } from "preact/hooks";
import { fetchUnder } from "../../log/root.js";

/** @param {() => Object<string, string>} identity headers that say who asks */
export function useMeasured(identity) {
  const [state, setState] = useState({ measured: null, going: false, problem: "" });
  const measure = async () => {
    setState((now) => ({ ...now, going: true, problem: "" }));
    try {
      const headers = { "Content-Type": "application/json", ...identity() };
      const response = await fetchUnder("/api/measure", { method: "POST", headers, body: "{}" });
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.detail);
      setState({ measured: answer, going: false, problem: "" });
    } catch (error) {
      setState((now) => ({ ...now, going: false, problem: error.message }));
    }
  };
  return { ...state, measure };
}
