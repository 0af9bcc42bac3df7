/** Code or data that a component fetches when it is first shown. */

import { useLayoutEffect, useState } from "preact/hooks";

/** Time before another try when something could not be fetched, in ms. */
const RETRY_MS = 2000;

/**
 * Fetches, and tries again until it succeeds: a network that is back brings what was missing without a press.
 *
 * @template T
 * @param {() => Promise<T>} fetchIt the same function for the same thing, which rejects while the server does not respond
 * @returns {{value: T|null, failed: boolean}} `failed`: the last try has failed
 */
export function useFetched(fetchIt) {
  const [last, setLast] = useState({ of: null, value: null, failed: false });
  // Not an effect: what is loaded already is shown in the same frame.
  useLayoutEffect(() => {
    let over = false;
    let timer = null;
    const attempt = () =>
      fetchIt().then(
        (value) => over || setLast({ of: fetchIt, value, failed: false }),
        () => {
          if (over) return;
          setLast({ of: fetchIt, value: null, failed: true });
          timer = setTimeout(attempt, RETRY_MS);
        },
      );
    attempt();
    return () => {
      over = true;
      clearTimeout(timer);
    };
  }, [fetchIt]);
  return last.of === fetchIt ? last : { value: null, failed: false };
}
