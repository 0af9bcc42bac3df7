/** Answers of what replaces the server: the same as the server's. */

/** @returns {Response} a value as JSON */
export function json(value, status = 200) {
  return new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
}

/** @returns {Uint8Array} a frame as it is in a stream: its length as unsigned 32-bit little-endian, then its bytes */
export function framed(payload) {
  const bytes = new Uint8Array(4 + payload.byteLength);
  new DataView(bytes.buffer).setUint32(0, payload.byteLength, true);
  bytes.set(payload, 4);
  return bytes;
}
