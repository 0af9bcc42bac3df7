/**
 * The files of a model in the browser's Cache Storage, under their names.
 *
 * The model runs without it, so no error of the storage is passed on: in a private window, in a sandboxed frame, and on a full disk
 * the files are downloaded each time.
 */

/** @returns {string} the key of a file: an address of this origin, so that it is the same on each page */
const keyOf = (file) => `/${file}`;

/**
 * @param {Object} parts
 * @param {CacheStorage|undefined} parts.caches
 * @param {string} parts.name
 * @param {{estimate: () => Promise<StorageEstimate>}|undefined} parts.storage
 */
export function createStock({ caches, name, storage }) {
  let isFull = false;
  /** Files that are not stored yet. */
  let missing = new Set();

  const known = async () => {
    const has = await caches?.has(name).catch(() => false);
    return has ? await caches.open(name).catch(() => null) : null;
  };

  /** @returns {Promise<Set<string>>} the names of the stored files */
  const names = async () => {
    const requests = await (await known())?.keys().catch(() => []);
    return new Set((requests ?? []).map(({ url }) => url.slice(url.lastIndexOf("/") + 1)));
  };

  return {
    names,

    /** @returns {Promise<Uint8Array<ArrayBuffer>|null>} */
    async read({ file }) {
      try {
        const response = await (await known())?.match(keyOf(file));
        return response ? new Uint8Array(await response.arrayBuffer()) : null;
      } catch {
        return null;
      }
    },

    /** Removes files of other versions, and looks whether there is room for these. */
    async begin(files) {
      const stored = await names();
      const cache = await known();
      const current = new Set(files.map(({ file }) => file));
      for (const other of stored) if (!current.has(other)) await cache?.delete(keyOf(other)).catch(() => false);
      missing = new Set(files.filter(({ file }) => !stored.has(file)).map(({ file }) => file));
      const needed = files.reduce((sum, { file, bytes }) => sum + (missing.has(file) ? bytes : 0), 0);
      const { quota, usage } = (await storage?.estimate().catch(() => null)) ?? {};
      isFull = quota !== undefined && quota - usage < needed;
    },

    /** Stores a file, if there is room. */
    async add({ file }, bytes) {
      if (!caches || isFull) return;
      try {
        const cache = await caches.open(name);
        await cache.put(keyOf(file), new Response(bytes));
        missing.delete(file);
      } catch {
        isFull = true;
      }
    },

    /** @returns {boolean} whether all files are stored */
    isComplete: () => missing.size === 0,

    async remove() {
      isFull = false;
      await caches?.delete(name).catch(() => false);
    },
  };
}
