/** A run of this device as one file (docs/frames.md, One file), as `join` in kvscope/model/log/frames.py. Pure. */

import { VERSION } from "../../shared/log/frames.js";
import { bytesOf, encodeSafetensors } from "../log/encode.js";

/**
 * @param {Uint8Array[]} payloads all frames of a log, in order
 * @param {{title: string, notes: Object[], open: Object|null, created: string}} about as the manifest of a session has it
 * @returns {Uint8Array<ArrayBuffer>} a safetensors file
 */
export function archiveOf(payloads, about) {
  /** @type {Object<string, string>} */
  const metadata = { session: JSON.stringify({ id: "", ...about }), v: VERSION };
  const joined = {};
  for (const payload of payloads) {
    const { metadata: fields, tensors } = bytesOf(payload);
    const key = fields.seq.padStart(6, "0");
    metadata.run = fields.run;
    metadata[key] = JSON.stringify(fields);
    for (const [name, tensor] of Object.entries(tensors)) joined[`${key}.${name}`] = tensor;
  }
  return encodeSafetensors(metadata, joined);
}
