/**
 * Addresses on the server, which a proxy may serve below another path. The page contains the relative address of the root, which is
 * resolved once, before the page changes its own address.
 *
 * A static site (docs/site.md) has the same pages as files; there the same paths lead to these files.
 */

import { loadedLater } from "./loaded-later.js";

/** The root's path with its last slash. A saved file has no server, and leaves paths unchanged. */
const ROOT = rootOf(globalThis.document);

/** Whether the page is of a static site, which no server answers. */
export const IN_SITE = globalThis.document?.documentElement.dataset.site !== undefined;

/** Whether the page was opened from a disk: it has no origin, although it is in no frame. */
export const ON_DISK = globalThis.location?.protocol === "file:";

/** @param {Document|undefined} document  @returns {string} */
export function rootOf(document) {
  const way = document?.documentElement.dataset.root;
  // Two leading slashes would make the next part the name of a host.
  return way ? new URL(way, document.baseURI).pathname.replace(/^\/+/, "/") : "/";
}

/**
 * Returns the file of a static site for a path, as app/http/site.py names it.
 *
 * @param {string} path from the root, with its query and hash: "/s/abc#step=3"
 * @returns {string} "/s/abc.html#step=3"
 */
export function fileOfSite(path) {
  const [, page, rest] = /^([^?#]*)(.*)$/s.exec(path);
  if (page === "/") return `/index.html${rest}`;
  return /\.[^/]*$/.test(page) ? path : `${page}.html${rest}`;
}

/** @param {string} pathname of the window's location  @returns {string} the path from the root that has this file: "/s/abc" */
export function pathOf(pathname, root = ROOT, inSite = IN_SITE) {
  const path = pathname.slice(root.length - 1);
  return inSite ? path.replace(/(^\/index)?\.html$/, "") || "/" : path;
}

/** @param {string} path on this server, from its root: "/s/…"  @returns {string} its path from this page */
export function under(path, root = ROOT, inSite = IN_SITE) {
  return `${root}${(inSite ? fileOfSite(path) : path).slice(1)}`;
}

/** @param {string} path on this server, from its root  @returns {string} the full address, for other pages */
export function linkTo(path) {
  return new URL(under(path), window.location.href).href;
}

/** @param {string} path of a page that starts runs  @returns {string} where a viewer of a static site can start one */
export function ownRunAt(path) {
  const server = globalThis.document?.documentElement.dataset.site;
  return server ? new URL(path.slice(1), server).href : under(IN_SITE ? "/install" : path);
}

/** The data that the site's scripts have set, by their paths (app/site/build.py). */
const DATA = "kvscopeData";

const fromSite =
  IN_SITE &&
  loadedLater(async () =>
    (await import("./site-source.js")).siteSource({ load: loadScript, subtle: globalThis.crypto?.subtle }),
  );

/** Calls `fetch` for a path on this server. */
export function fetchUnder(path, options = {}) {
  return fromSite ? fromSite(path, options) : window.fetch(under(path), options);
}

/**
 * Loads data from a script: unlike `fetch`, this works in a sandboxed frame and on pages opened from a disk.
 *
 * @param {string} path from the root
 * @returns {Promise<any>} its data; rejects when the script cannot be loaded
 */
export function loadScript(path) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    /** @type {HTMLScriptElement|null} */
    const allowed = document.querySelector("script[nonce]");
    script.nonce = allowed?.nonce ?? "";
    script.src = under(path);
    script.onload = () => {
      script.remove();
      const data = globalThis[DATA];
      resolve(data[path]);
      delete data[path];
    };
    script.onerror = () => {
      script.remove();
      reject(new TypeError(`${path} cannot be loaded`));
    };
    document.head.append(script);
  });
}
