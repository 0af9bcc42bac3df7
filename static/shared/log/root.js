/**
 * Where the server is. A proxy may have put it below a path: the page is told by which way it leads up to the root from its own
 * address. That is looked up once, before the page writes another address in place of its own.
 */

/** The root's path with its last slash. A page that is a file has no server, and leaves paths as they are. */
const ROOT = rootOf(globalThis.document);

/** @param {Document|undefined} document  @returns {string} */
export function rootOf(document) {
  const way = document?.documentElement.dataset.root;
  // Two slashes in front would be followed by the name of a host.
  return way ? new URL(way, document.baseURI).pathname.replace(/^\/+/, "/") : "/";
}

/** @param {string} path on this server, from its root: "/s/…"  @returns {string} what leads there from this page */
export function under(path, root = ROOT) {
  return `${root}${path.slice(1)}`;
}

/** @param {string} path the same  @returns {string} the whole address, for whoever is elsewhere */
export function linkTo(path) {
  return new URL(under(path), window.location.href).href;
}

/** `fetch` of a path on this server. */
export function fetchUnder(path, options = {}) {
  return window.fetch(under(path), options);
}
