/** The log of another run, such as a twin or a beam search, watched while the component is shown. */

import { useEffect, useState } from "preact/hooks";

const NOTHING = { log: null, problem: null };

/**
 * @param {Object} client
 * @param {string|null} id null: nothing is watched
 * @param {(id: string) => {push: (frame: Object) => void}} make creates the log, which takes the frames
 * @returns {{log: Object|null, problem: Error|null}} a new object with every frame; `log` itself grows in place
 */
export function useLog(client, id, make) {
  const [shown, setShown] = useState({ id: null, ...NOTHING });
  useEffect(() => {
    if (!id) return undefined;
    const log = make(id);
    return client.watch(id, -1, {
      onFrame(frame) {
        log.push(frame);
        setShown({ id, log, problem: null });
      },
      onConnection() {},
      onProblem: (problem) => setShown({ id, log: null, problem }),
    });
  }, [client, id, make]);
  return shown.id === id ? shown : NOTHING;
}
