/** Who asks, in headers. */

import { tokenOf } from "./token.js";
import { visitorOf } from "./visitor.js";

/**
 * Headers that say who asks. To be called before the page writes its address anew: the server's token comes in it.
 *
 * @param {Object} settings of `storageOr`
 * @param {boolean} stranger a file, or another page's guest: it says nothing, and only reads what is open to everybody
 */
export function identityOf(settings, stranger) {
  if (stranger) return {};
  const token = tokenOf(window, settings);
  return {
    "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}
