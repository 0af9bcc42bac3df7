/**
 * Replaces the server in a page that was saved as a file: the same answers, from the parts inside the page. A static site has the
 * same parts (site-source.js).
 *
 * Each part is base64 in its own element; parts of the log are also deflated. Reading checks their bytes against the manifest's
 * SHA-256, if the browser has `crypto.subtle`.
 */

import { msg } from "../words/msg.js";
import { hex } from "./hex.js";
import { framed, json } from "./responses.js";

const NOT_INSIDE = {
  title: msg`Not in this file`,
  detail: msg`This file does not contain the requested data.`,
  status: 409,
};

/**
 * @param {Object} parts
 * @param {{id: string, parts: {seq: number, bytes: number, sha256: string}[], values?: Object}} parts.manifest
 * @param {Object} [parts.glossary]
 * @param {string} [parts.base] the path of the log; by default the session's
 * @param {(id: string) => string|null|Promise<string|null>} parts.textOf the text of a part; null if there is none
 * @param {SubtleCrypto|undefined} parts.subtle absent in an insecure context: then nothing is checked
 * @returns {Function} a replacement of the browser's `fetch`
 */
export function fileSource({ manifest, glossary, textOf, subtle, base = `/api/sessions/${manifest.id}` }) {
  const checked = async (id, unpack, { sha256 }, name) => {
    const text = await textOf(id);
    const bytes = text === null ? null : await unpack(text).catch(() => null);
    if (bytes === null || (subtle && hex(await subtle.digest("SHA-256", bytes)) !== sha256)) throw damaged(name);
    return bytes;
  };
  const part = (entry) => checked(`part-${entry.seq}`, inflated, entry, `parts[${entry.seq}]`);
  const valuesPart = (entry) => {
    const { step, layer } = entry;
    return checked(
      `values-${step}-${layer}`,
      async (text) => decoded(text),
      entry,
      `values[step ${step}, layer ${layer}]`,
    );
  };

  const values = async (query) => {
    const layer = Number(query.get("layer"));
    const ofLayer = manifest.values.parts.filter((entry) => entry.layer === layer);
    if (!query.has("step")) return streamed(ofLayer, valuesPart);
    const entry = ofLayer.find(({ step }) => step === Number(query.get("step")));
    return entry ? new Response(await valuesPart(entry)) : json(NOT_INSIDE, NOT_INSIDE.status);
  };

  return async (path) => {
    const { pathname, searchParams } = new URL(path, "http://file");
    try {
      if (pathname === "/static/shared/words/glossary.json") return json(glossary);
      if (pathname === base) return json(manifest);
      if (pathname === `${base}/frames`) {
        return await streamed(manifest.parts.slice(Number(searchParams.get("after") ?? -1) + 1), part);
      }
      if (pathname === `${base}/values` && manifest.values) return await values(searchParams);
    } catch (problem) {
      if (problem.status) return json(problem, problem.status);
      throw problem;
    }
    return json(NOT_INSIDE, NOT_INSIDE.status);
  };
}

/**
 * Returns the parts as a stream of frames. Damage in the first part is an error; later damage ends the stream, as on the server.
 *
 * @param {Object[]} entries
 * @param {(part: Object) => Promise<Uint8Array>} read
 */
async function streamed(entries, read) {
  const first = entries.length ? framed(await read(entries[0])) : null;
  let at = 0;
  return new Response(
    new ReadableStream({
      async pull(controller) {
        if (at >= entries.length) return controller.close();
        controller.enqueue(at === 0 ? first : framed(await read(entries[at])));
        at += 1;
      },
    }),
  );
}

/** @returns {Uint8Array<ArrayBuffer>}  @throws {DOMException} if the text is not base64 */
function decoded(text) {
  return Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
}

/** @param {string} text base64 of a zlib stream  @returns {Promise<Uint8Array>} @throws {TypeError} for anything else */
async function inflated(text) {
  const stream = new Blob([decoded(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

function damaged(field) {
  return {
    title: msg`This file is damaged`,
    detail: msg`The part ${field} differs from what was saved.`,
    status: 500,
    field,
  };
}
