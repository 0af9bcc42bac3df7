/** Long work in pieces: between two of them the browser does what else it has to do. */

/** @returns {Promise<void>} kept in a task of its own: soon, and unlike a timer's also where the page is not in sight */
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
