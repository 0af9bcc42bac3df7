/**
 * The offer to compute on this device: a replacement of `fetch` that loads the engine (static/engine/) when somebody asks for it.
 *
 * Until then nothing of it is requested. On a static site the engine answers whatever needs a model; with a server, it does so after
 * the viewer chose this device.
 */

import { msg } from "../words/msg.js";
import { json } from "./responses.js";

/** The model on this device: GET describes it, POST loads it, PUT uses a GGUF file, DELETE removes it. No server has this path, nor the one to stop loading. */
export const HERE = "/api/engine/here";
export const LOADING_HERE = "/api/engine/here/loading";
/** Ids of this device's runs begin so. No server's do: theirs have no hyphen. */
const OWN = "here-";

/** @returns {boolean} whether this device computed the run */
export const isHere = (run) => run?.id?.startsWith(OWN) ?? false;

/** @returns {string} an id for a run of this device */
export function newRunId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return OWN + Array.from(bytes, (byte) => byte.toString(36).padStart(2, "0")).join("");
}

/**
 * @typedef {Object} Engine
 * @property {Function} fetch answers what needs a model, and passes on the rest
 * @property {() => Promise<Object>} describe
 * @property {() => Promise<void>} load
 * @property {(file: File) => void} use loads a visitor's GGUF file in place of the site's model
 * @property {() => void} cancel stops loading; what is stored stays
 * @property {() => Promise<void>} remove
 *
 * @param {Object} parts
 * @param {(path: string, options?: Object) => Promise<Response>} parts.fetch answers everything else
 * @param {boolean} parts.alone whether this device computes without being chosen, as on a static site
 * @param {(parts: {fetch: Function, isChosen: () => boolean}) => Promise<Engine>} parts.open loads the engine's modules
 * @returns {(path: string, options?: Object) => Promise<Response>}
 */
export function deviceSource({ fetch, alone, open }) {
  /** @type {Promise<Engine>|null} */
  let engine = null;
  let chosen = alone;
  const opened = () => (engine ??= open({ fetch, isChosen: () => chosen }));

  const here = {
    GET: async () => json(await (await opened()).describe()),
    async POST() {
      const { load } = await opened();
      chosen = true;
      load();
      return json({ state: "loading" });
    },
    async PUT({ body }) {
      const { use } = await opened();
      chosen = true;
      use(body);
      return json({ state: "loading" });
    },
    async DELETE() {
      const { remove } = await opened();
      chosen = alone;
      await remove();
      return json({ state: "offered" });
    },
  };

  const cancel = async () => {
    (await opened()).cancel();
    chosen = alone;
    return json({ state: "offered" });
  };

  return async (path, options = {}) => {
    if (path === LOADING_HERE) return cancel();
    if (path === HERE) return here[options.method ?? "GET"](options).catch(refusal);
    if (engine) return (await engine).fetch(path, options);
    if (alone && path === "/readyz") return json(OFFERED, 503);
    return fetch(path, options);
  };
}

const OFFERED = { state: "offered", message: msg`The model can run on this device.`, model: null };

/** Returns a problem as a response; what is no problem, such as a module that cannot be loaded, is thrown. */
function refusal(problem) {
  if (problem.status === undefined) throw problem;
  const { title, detail, status } = problem;
  return json({ title, detail, status }, status || 502);
}
