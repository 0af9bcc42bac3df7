/**
 * Starts the worker of the engine.
 *
 * A server sends its modules. A static site has its code as data in a script, because a browser lets a page in a sandboxed frame, or one
 * opened from a disk, load no worker from an address, and no module into a worker. So there it is one classic script.
 */

import { loadScript, under } from "../shared/log/root.js";

/**
 * @param {Object} [parts] replaced in tests
 * @param {string|undefined} [parts.file] of a static site: the path of the script that has the code (app/site/engine.py)
 * @param {(path: string) => Promise<string>} [parts.load]
 * @param {(source: string) => string} [parts.addressOf] gives a text an address
 * @param {(address: string, options?: WorkerOptions) => Worker} [parts.start]
 * @returns {Promise<Worker>} rejects if its code cannot be loaded
 */
export async function startWorker({
  file = globalThis.document?.documentElement.dataset.worker,
  load = loadScript,
  addressOf = (source) => URL.createObjectURL(new Blob([source], { type: "text/javascript" })),
  start = (address, options) => new Worker(address, options),
} = {}) {
  return file ? start(addressOf(await load(file))) : start(under("/static/engine/worker.js"), { type: "module" });
}
