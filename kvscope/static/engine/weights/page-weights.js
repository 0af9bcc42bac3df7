/** The model of this page's server or site. */

import { problemOf } from "../../shared/log/problem.js";
import { fetchUnder, IN_SITE, loadScript, under } from "../../shared/log/root.js";
import { createWeights, DESCRIPTION } from "./weights.js";

export function pageWeights() {
  return createWeights({
    load: loadScript,
    explain,
    caches: accessible(),
    name: `kvscope ${under(DESCRIPTION)}`,
    subtle: globalThis.crypto?.subtle,
    storage: navigator.storage,
    // Not every browser has it, nor TypeScript's definitions.
    connection: /** @type {any} */ (navigator).connection,
  });
}

/** A script's error says nothing about the reason; a server does. */
async function explain(path) {
  if (IN_SITE) return null;
  const response = await fetchUnder(path).catch(() => null);
  return response && !response.ok ? problemOf(response) : null;
}

/** @returns {CacheStorage|undefined} the browser's storage; a page in a sandboxed frame may not even look whether there is one */
function accessible() {
  try {
    return globalThis.caches;
  } catch {
    return undefined;
  }
}
