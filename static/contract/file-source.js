/**
 * What a page that is a file of its own has in place of a server: the same answers, from the parts inside the page.
 *
 * Each part is deflated and in base64, in an element of its own; its bytes are compared with the manifest's SHA-256 when
 * they are read, wherever the browser can do that.
 */

const NOT_INSIDE = "not in this file";

/**
 * @param {Object} parts
 * @param {{id: string, parts: {seq: number, bytes: number, sha256: string}[]}} parts.manifest
 * @param {Object} parts.glossary
 * @param {(seq: number) => string|null} parts.packed the text of a frame's element; null where there is none
 * @param {SubtleCrypto|undefined} parts.subtle absent where a page was not sent safely: then nothing can be checked
 * @returns {Function} in place of the browser's `fetch`
 */
export function fileSource({ manifest, glossary, packed, subtle }) {
  const base = `/api/sessions/${manifest.id}`;

  const part = async ({ seq, sha256 }) => {
    const text = packed(seq);
    const bytes = text === null ? null : await unpacked(text).catch(() => null);
    if (bytes === null || (subtle && hex(await subtle.digest("SHA-256", bytes)) !== sha256)) throw damaged(`parts[${seq}]`);
    return bytes;
  };

  /** As the server does: damage is said where nothing was sent yet, and cuts off what was. */
  const frames = async (after) => {
    const wanted = manifest.parts.slice(after + 1);
    const first = wanted.length ? framed(await part(wanted[0])) : null;
    let at = 0;
    return new Response(
      new ReadableStream({
        async pull(controller) {
          if (at >= wanted.length) return controller.close();
          controller.enqueue(at === 0 ? first : framed(await part(wanted[at])));
          at += 1;
        },
      }),
    );
  };

  return async (path) => {
    const { pathname, searchParams } = new URL(path, "http://file");
    try {
      if (pathname === "/static/glossary.json") return json(glossary);
      if (pathname === base) return json(manifest);
      if (pathname === `${base}/frames`) return await frames(Number(searchParams.get("after") ?? -1));
    } catch (problem) {
      if (problem.status) return json(problem, problem.status);
      throw problem;
    }
    return json({ title: "Not in this file", detail: NOT_INSIDE, status: 409 }, 409);
  };
}

/** @param {string} text base64 of a zlib stream  @returns {Promise<Uint8Array>} @throws {TypeError} where it is not one */
async function unpacked(text) {
  const packed = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/** @returns {Uint8Array} a frame as it is in a stream: its length as unsigned 32-bit little-endian, then its bytes */
function framed(payload) {
  const bytes = new Uint8Array(4 + payload.byteLength);
  new DataView(bytes.buffer).setUint32(0, payload.byteLength, true);
  bytes.set(payload, 4);
  return bytes;
}

function hex(buffer) {
  return Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

function damaged(field) {
  return { title: "This file is damaged", detail: `A part of it is not what was saved: ${field}.`, status: 500, field };
}

function json(value, status = 200) {
  return new Response(JSON.stringify(value), { status, headers: { "Content-Type": "application/json" } });
}
