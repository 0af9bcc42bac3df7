/** Asks again and again, one request at a time, as long as the answers say so. */

/**
 * @param {Object} parts
 * @param {() => Promise<void>} parts.ask
 * @param {() => number|null} parts.decide called after each answer; returns after how many ms to ask again, null: not again
 * @param {(ms: number) => Promise<void>} parts.delay
 * @returns {{poll: () => void, dispose: () => void}} `poll` starts; while it runs, it asks once more: what it asks about may have changed
 */
export function createPolling({ ask, decide, delay }) {
  let polling = false;
  let again = false;
  let disposed = false;

  const poll = async () => {
    again = true;
    if (polling) return;
    polling = true;
    while (!disposed && again) {
      again = false;
      await ask();
      if (disposed) break;
      const ms = decide();
      if (again || ms === null) continue;
      again = true;
      await delay(ms);
    }
    polling = false;
  };

  return {
    poll,
    dispose() {
      disposed = true;
    },
  };
}
