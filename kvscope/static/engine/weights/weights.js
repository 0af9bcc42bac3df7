/**
 * The model on its way to this device: described, downloaded, stored and removed.
 *
 * What a model consists of: kvscope/model/service/for_browser.py. Every file is data in a script; it is checked, and stored in the
 * browser's Cache Storage if there is one. Nothing is downloaded again that is stored.
 */

import { Problem } from "../../shared/log/problem.js";
import { msg } from "../../shared/words/msg.js";
import { DAMAGED, damagedFile, decoded } from "./check.js";
import { createStock } from "./stock.js";

const BASE = "/api/engine/";
export const DESCRIPTION = `${BASE}model.js`;
const FORMAT = 1;
/** Files that are requested at a time. */
const AT_ONCE = 3;
/** How long to wait before each further try of a file, in ms. */
const RETRIES = [500, 3000];

/**
 * @typedef {{file: string, bytes: number, sha256: string}} File
 * @typedef {{format: number, model: Object, limits: {prompt_tokens: number, new_tokens: number, positions: number}, bytes: number,
 *   parts: File[], details: File, wasm: File}} Description
 *
 * @param {Object} parts
 * @param {(path: string) => Promise<any>} parts.load reads the data of the script at this path
 * @param {(path: string) => Promise<Problem|null>} [parts.explain] returns why a script cannot be loaded, if the server says so
 * @param {CacheStorage|undefined} parts.caches absent where nothing can be stored
 * @param {string} [parts.name] of this model's part of the storage
 * @param {SubtleCrypto|undefined} parts.subtle absent in an insecure context: then only lengths are checked
 * @param {{estimate: () => Promise<StorageEstimate>}|undefined} [parts.storage] says how much room there is
 * @param {{saveData?: boolean, type?: string}|undefined} [parts.connection]
 * @param {(ms: number) => Promise<void>} [parts.delay]
 */
export function createWeights({
  load,
  explain = async (_path) => null,
  caches,
  name = "kvscope-engine",
  subtle,
  storage,
  connection,
  delay = (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
}) {
  const stock = createStock({ caches, name, storage });
  /** @type {Promise<Description>|null} */
  let description = null;
  /** Bytes of the files beside the tensors that this page has, by name. @type {Map<string, number>} */
  const besides = new Map();

  const read = async () => {
    let described;
    try {
      described = await load(DESCRIPTION);
    } catch {
      throw (await explain(DESCRIPTION)) ?? new Problem(NOT_THERE);
    }
    if (described?.format !== FORMAT) throw new Problem(OTHER_FORMAT);
    return described;
  };

  /** @returns {Promise<Description>} a few kilobytes  @throws {Problem} */
  const describe = () => {
    if (!description) {
      description = read();
      description.catch(() => {
        description = null;
      });
    }
    return description;
  };

  /** @returns {Promise<Uint8Array<ArrayBuffer>>} the file's bytes, downloaded  @throws {Problem} */
  const download = async (file, signal) => {
    for (let tries = 0; ; tries += 1) {
      signal?.throwIfAborted();
      let text = null;
      try {
        text = (await unless(signal, load(BASE + file.file))) ?? null;
      } catch {
        signal?.throwIfAborted();
      }
      const bytes = text === null ? null : decoded(text);
      const damage = await damagedFile(file, bytes, subtle);
      if (!damage) return bytes;
      if (tries === RETRIES.length) throw new Problem(DAMAGED[damage](file.file));
      await unless(signal, delay(RETRIES[tries]));
    }
  };

  /** @returns {Promise<Uint8Array<ArrayBuffer>>} the file's bytes, from the storage if it has them  @throws {Problem} */
  const fetched = async (file, signal) => {
    const known = await stock.read(file);
    if (known && !(await damagedFile(file, known, subtle))) return known;
    const bytes = await download(file, signal);
    await stock.add(file, bytes);
    return bytes;
  };

  const fetchedBeside = async (file, signal) => {
    const bytes = await fetched(file, signal);
    besides.set(file.file, file.bytes);
    return bytes;
  };

  return {
    describe,

    /** @returns {boolean} whether the connection may cost money, or its user wants to save data */
    isMetered: () => connection?.saveData === true || connection?.type === "cellular",

    /** @returns {Promise<number>} how many bytes of the model are stored on this device  @throws {Problem} */
    async stored() {
      const names = await stock.names();
      return filesOf(await describe()).reduce((sum, { file, bytes }) => sum + (names.has(file) ? bytes : 0), 0);
    },

    /** @returns {Promise<Uint8Array<ArrayBuffer>>} the native code  @throws {Problem} */
    wasm: async (signal) => fetchedBeside((await describe()).wasm, signal),

    /** @returns {Promise<{packed: Object, tokenizer: Object}>}  @throws {Problem} */
    details: async (signal) =>
      JSON.parse(new TextDecoder().decode(await fetchedBeside((await describe()).details, signal))),

    /**
     * Passes on the packed tensors, part by part, in any order.
     *
     * @param {Object} options
     * @param {(offset: number, bytes: Uint8Array<ArrayBuffer>) => any} options.take may keep the bytes; it is awaited
     * @param {(done: number, total: number) => void} [options.onProgress] bytes of the model that this page has
     * @param {AbortSignal} [options.signal]
     * @returns {Promise<{isStored: boolean}>} whether nothing has to be downloaded the next time  @throws {Problem}, or what the signal says
     */
    async fetchAll({ take, onProgress = (_done, _total) => {}, signal }) {
      const described = await describe();
      const waiting = withOffsets(described.parts);
      const total = described.bytes;
      const ended = new AbortController();
      const end = () => ended.abort(signal.reason);
      signal?.throwIfAborted();
      signal?.addEventListener("abort", end, { once: true });
      let done = [...besides.values()].reduce((sum, bytes) => sum + bytes, 0);
      await stock.begin(filesOf(described));
      onProgress(done, total);
      const one = async () => {
        for (let next = waiting.shift(); next; next = waiting.shift()) {
          const bytes = await fetched(next.file, ended.signal);
          ended.signal.throwIfAborted();
          await take(next.offset, bytes);
          done += next.file.bytes;
          onProgress(done, total);
        }
      };
      try {
        await Promise.all(Array.from({ length: AT_ONCE }, one));
      } catch (problem) {
        ended.abort(problem);
        throw problem;
      } finally {
        signal?.removeEventListener("abort", end);
      }
      return { isStored: stock.isComplete() };
    },

    /** Removes the model from this device. */
    remove: stock.remove,
  };
}

/** @param {Description} description  @returns {File[]} */
function filesOf({ parts, details, wasm }) {
  return [details, wasm, ...parts];
}

function withOffsets(parts) {
  let offset = 0;
  return parts.map((file) => {
    const placed = { file, offset };
    offset += file.bytes;
    return placed;
  });
}

/**
 * Waits for a promise, but no longer than until the signal aborts.
 *
 * @template Value
 * @param {AbortSignal|undefined} signal
 * @param {Promise<Value>} promise
 * @returns {Promise<Value>} rejects with the signal's reason
 */
function unless(signal, promise) {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}

const NOT_THERE = {
  title: msg`The model cannot be loaded`,
  detail: msg`Its description is missing. Check the connection, then load the page again.`,
};

const OTHER_FORMAT = {
  title: msg`The model cannot be loaded`,
  detail: msg`It is of another version than this page. Load the page again.`,
};
