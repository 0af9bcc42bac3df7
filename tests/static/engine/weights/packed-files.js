/** A model of small files as a site has it, and a browser's storage. */

import { createHash } from "node:crypto";

export const PARTS = ["first part", "second", "the third part", "4"].map((text) => new TextEncoder().encode(text));
export const DETAILS = { packed: { size: 31 }, tokenizer: { kind: "bytes" } };
export const WASM = new Uint8Array([0, 97, 115, 109]);

const fileOf = (bytes) => {
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return { file: `${sha256.slice(0, 16)}.js`, bytes: bytes.length, sha256 };
};
const parts = PARTS.map(fileOf);
const detailsBytes = new TextEncoder().encode(JSON.stringify(DETAILS));

export const DESCRIPTION = {
  format: 1,
  model: { name: "tiny" },
  bytes: 0,
  parts,
  details: fileOf(detailsBytes),
  wasm: fileOf(WASM),
};
export const SIZE = [...parts, DESCRIPTION.details, DESCRIPTION.wasm].reduce((sum, { bytes }) => sum + bytes, 0);
DESCRIPTION.bytes = SIZE;

/** The data of each script, by its path. */
export const scripts = () => {
  const bytes = [...PARTS, detailsBytes, WASM];
  const files = [...parts, DESCRIPTION.details, DESCRIPTION.wasm];
  const texts = files.map(({ file }, i) => [pathOf(file), Buffer.from(bytes[i]).toString("base64")]);
  return { "/api/engine/model.js": DESCRIPTION, ...Object.fromEntries(texts) };
};

export const pathOf = (file) => `/api/engine/${file}`;

/** A Cache Storage. `room`: how many bytes it takes. */
export function storageOf(room = Number.POSITIVE_INFINITY) {
  const all = new Map();
  const cacheOf = (entries) => ({
    async put(key, response) {
      const bytes = new Uint8Array(await response.arrayBuffer());
      const taken = [...all.values()].flatMap((each) => [...each.values()]).reduce((sum, each) => sum + each.length, 0);
      if (taken + bytes.length > room) throw new DOMException("full", "QuotaExceededError");
      entries.set(key, bytes);
    },
    match: async (key) => (entries.has(key) ? new Response(entries.get(key)) : undefined),
    keys: async () => [...entries.keys()].map((key) => ({ url: `https://example.org${key}` })),
    delete: async (key) => entries.delete(key),
  });
  return {
    all,
    caches: {
      has: async (name) => all.has(name),
      async open(name) {
        if (!all.has(name)) all.set(name, new Map());
        return cacheOf(all.get(name));
      },
      delete: async (name) => all.delete(name),
    },
  };
}
