/** The model on this device: whether it is offered, how far it is downloaded, and the worker that computes with it. */

import { Problem } from "../../shared/log/problem.js";
import { msg } from "../../shared/words/msg.js";
import { createEngine } from "./engine.js";

/**
 * @typedef {Object} Device
 * @property {"offered"|"loading"|"ready"|"failed"} state
 * @property {number} done bytes of the model that are in memory
 * @property {number} total bytes of the model, 0 until its description is read
 * @property {number} stored bytes of it that an earlier visit stored
 * @property {string} message
 * @property {boolean} stopped whether it failed after it was ready
 * @property {Object|null} model as an `open` frame describes it
 * @property {boolean} metered whether the connection may cost money
 * @property {string} file the name of the visitor's GGUF file that is used in place of the site's model; "": none
 *
 * @param {Object} parts
 * @param {ReturnType<typeof import("../weights/weights.js").createWeights>} parts.weights
 * @param {() => Promise<Worker>} parts.startWorker
 * @param {(frames: {run: string, payloads: Uint8Array[], closed: boolean}) => void} parts.onFrames
 * @param {() => void} parts.onLost called when the worker has ended by itself
 */
export function createDevice({ weights, startWorker, onFrames, onLost }) {
  /** @type {Device} */
  let device = {
    state: "offered",
    ...{ done: 0, total: 0, stored: 0, message: "", stopped: false, model: null },
    ...{ metered: weights.isMetered(), file: "" },
  };
  let file = /** @type {File|null} */ (null);
  let loading = /** @type {AbortController|null} */ (null);
  const change = (next) => {
    device = { ...device, ...next };
  };

  const engine = createEngine({
    start: startWorker,
    onFrames,
    onLost() {
      onLost();
      if (device.state === "ready") change(STOPPED);
    },
  });

  /** Reads the sizes, so that they can be said before anything large is requested.  @throws {Problem} */
  const describe = async () => {
    if (file) return;
    const { model, bytes: total } = await weights.describe();
    change({ total, stored: await weights.stored(), model });
  };

  /** Downloads what is missing of the site's model. */
  const loadSites = async (signal) => {
    await describe();
    const { model: info, limits } = await weights.describe();
    const [wasm, { packed, tokenizer }] = await Promise.all([weights.wasm(signal), weights.details(signal)]);
    await engine.begin(signal);
    await engine.call("load", { wasm, info, packed, tokenizer, limits });
    await weights.fetchAll({
      signal,
      take: (offset, bytes) => engine.call("part", { offset, bytes }, [bytes.buffer]),
      onProgress: (done) => change({ done }),
    });
  };

  /** Reads the visitor's file. Of the site's model, only the code and the details are downloaded. */
  const loadFile = async (signal) => {
    change({ total: file.size });
    const [wasm, details] = await Promise.all([weights.wasm(signal), weights.details(signal)]);
    await engine.begin(signal);
    await engine.call("open", { wasm, file, details });
    for (let model = null; !model; ) {
      const { done, info } = await engine.call("read");
      model = info;
      change(model ? { model } : { done });
    }
  };

  /** Starts the engine with the visitor's file, or with the site's model. */
  const load = async () => {
    if (device.state === "loading" || device.state === "ready") return;
    const own = new AbortController();
    const { signal } = own;
    loading = own;
    const message = file ? msg`Reading ${file.name} on this device` : msg`Loading the model on this device`;
    change({ state: "loading", done: 0, stopped: false, message });
    try {
      await (file ? loadFile(signal) : loadSites(signal));
      change({ state: "ready", message: "" });
    } catch (problem) {
      if (loading !== own) return; // stopped, and perhaps begun again
      const detail = problem.detail || problem.message;
      change({ state: "failed", message: file ? `${file.name}: ${detail}` : detail });
      engine.end();
    }
  };

  /** Stops loading, or the engine, and forgets the visitor's file. */
  const stop = () => {
    loading?.abort();
    loading = null;
    const model = file ? null : device.model;
    file = null;
    change({ state: "offered", message: "", stopped: false, done: 0, model, file: "" });
    engine.end();
  };

  return {
    state: () => device,
    describe,
    load,
    cancel: stop,

    /** Uses a visitor's GGUF file in place of the site's model. */
    use(chosen) {
      stop();
      file = chosen;
      change({ file: file.name, model: null });
      return load();
    },

    call: engine.call,

    /** Removes what is stored of the model, and ends the engine. */
    async remove() {
      stop();
      await weights.remove();
      change({ stored: 0 });
    },

    /** @throws {Problem} unless the model is ready */
    mustBeReady() {
      if (device.state === "ready") return;
      throw new Problem({
        title: msg`The model is not loaded`,
        detail: msg`The model on this device is not loaded.`,
        status: 503,
      });
    },
  };
}

const STOPPED = /** @type {const} */ ({
  ...{ state: "failed", stopped: true },
  message: msg`The model on this device has stopped.`,
});
