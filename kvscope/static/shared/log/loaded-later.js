/**
 * Returns a replacement of the browser's `fetch` whose code begins to load now, apart from the page's own: most pages ask a server and
 * never need it.
 *
 * @param {() => Promise<Function>} load resolves to the replacement
 * @returns {(path: string, options?: Object) => Promise<Response>}
 */
export function loadedLater(load) {
  const loaded = load();
  return async (path, options) => (await loaded)(path, options);
}
