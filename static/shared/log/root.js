/**
 * The path of the server, which a proxy may have put below another path. The page contains the relative way to the root; it is resolved
 * once, before the page changes its own address.
 */

/** The root's path with its last slash. A saved file has no server, and leaves paths unchanged. */
const ROOT = rootOf(globalThis.document);

/** @param {Document|undefined} document  @returns {string} */
export function rootOf(document) {
  const way = document?.documentElement.dataset.root;
  // Two leading slashes would make the next part the name of a host.
  return way ? new URL(way, document.baseURI).pathname.replace(/^\/+/, "/") : "/";
}

/** @param {string} path on this server, from its root: "/s/…"  @returns {string} its path from this page */
export function under(path, root = ROOT) {
  return `${root}${path.slice(1)}`;
}

/** @param {string} path the same  @returns {string} the full address, for use elsewhere */
export function linkTo(path) {
  return new URL(under(path), window.location.href).href;
}

/** `fetch` of a path on this server. */
export function fetchUnder(path, options = {}) {
  return window.fetch(under(path), options);
}
