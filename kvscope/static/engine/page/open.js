/** The engine of this page, with the browser's parts. */

import { startWorker } from "../start-worker.js";
import { pageWeights } from "../weights/page-weights.js";
import { createSource } from "./source.js";

/**
 * @param {{fetch: Function, isChosen: () => boolean}} parts as `createSource` takes them
 * @returns {import("../../shared/log/device.js").Engine}
 */
export function openEngine(parts) {
  const { fetch, device } = createSource({ ...parts, weights: pageWeights(), startWorker });
  return {
    fetch,
    load: device.load,
    use: device.use,
    cancel: device.cancel,
    remove: device.remove,
    async describe() {
      await device.describe();
      const { model, total: bytes, stored, metered, file } = device.state();
      return { model, bytes, stored, metered, file };
    },
  };
}
