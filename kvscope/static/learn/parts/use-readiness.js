/** Polls the server until its model is ready. */

import { useEffect, useState } from "preact/hooks";
import { msg } from "../../shared/words/msg.js";

const POLL_MS = 1_000;
const UNKNOWN = { state: "unknown", message: "", model: null };

/**
 * @param {Object} client
 * @returns {{state: string, message: string, model: Object|null}} `model`: that of an `open` frame, when `state` is "ready"
 */
export function useReadiness(client) {
  const [readiness, setReadiness] = useState(UNKNOWN);
  useEffect(() => {
    let disposed = false;
    let timer = null;
    const ask = async () => {
      const now = await client.readiness().catch(() => ({
        ...UNKNOWN,
        state: "unreachable",
        message: msg`The server cannot be reached.`,
      }));
      if (disposed) return;
      setReadiness(now);
      if (!["ready", "none"].includes(now.state)) timer = setTimeout(ask, POLL_MS);
    };
    ask();
    return () => {
      disposed = true;
      clearTimeout(timer);
    };
  }, [client]);
  return readiness;
}
