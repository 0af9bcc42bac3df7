/** A pause in which other tasks run. */

/** @returns {Promise<void>} resolves soon, in a new task; unlike a timer also in a hidden page */
export function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => {
      port1.close();
      resolve();
    };
    port2.postMessage(null);
  });
}
