/** Headers that identify the client. */

import { tokenOf } from "./token.js";
import { visitorOf } from "./visitor.js";

/**
 * Headers that identify the client. Call it before the page changes its address, which may carry the server's token.
 *
 * @param {Object} settings of `storageOr`
 * @param {boolean} stranger a file or an embed: it sends no headers and reads only public data
 */
export function identityOf(settings, stranger) {
  if (stranger) return {};
  const token = tokenOf(window, settings);
  return {
    "X-KVScope-Client": visitorOf(settings, () => crypto.getRandomValues(new Uint8Array(16))),
    ...(token ? { Authorization: `Bearer ${token}` } : {}),
  };
}
