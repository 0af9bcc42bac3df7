/** Reads a file of a model from its text, and says what is wrong with it. Pure. */

import { hex } from "../../shared/log/hex.js";
import { msg } from "../../shared/words/msg.js";

const TITLE = msg`The model cannot be loaded`;

/** Problems of a file, by what is wrong with it. */
export const DAMAGED = {
  missing: (file) => ({
    title: TITLE,
    detail: msg`The part ${file} is missing. Check the connection, then try again: what is stored is not downloaded again.`,
  }),
  truncated: (file) => ({
    title: TITLE,
    detail: msg`The part ${file} is incomplete. Try again. If that does not help, whoever runs this site has to upload it again.`,
  }),
  changed: (file) => ({
    title: TITLE,
    detail: msg`The part ${file} differs from what was packed. Try again. If that does not help, whoever runs this site has to upload it again.`,
  }),
};

/** @param {unknown} text base64  @returns {Uint8Array<ArrayBuffer>} empty if it is none */
export function decoded(text) {
  try {
    // Not every browser has it, nor TypeScript's definitions.
    const { fromBase64 } = /** @type {any} */ (Uint8Array);
    if (fromBase64) return fromBase64.call(Uint8Array, text);
    const letters = atob(String(text));
    const bytes = new Uint8Array(letters.length);
    for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
    return bytes;
  } catch {
    return new Uint8Array(0);
  }
}

/**
 * @param {{bytes: number, sha256: string}} file
 * @param {Uint8Array<ArrayBuffer>|null} bytes
 * @param {SubtleCrypto|undefined} subtle
 * @returns {Promise<"missing"|"truncated"|"changed"|null>}
 */
export async function damagedFile({ bytes: length, sha256 }, bytes, subtle) {
  if (bytes === null) return "missing";
  if (bytes.length !== length) return "truncated";
  return subtle && hex(await subtle.digest("SHA-256", bytes)) !== sha256 ? "changed" : null;
}
