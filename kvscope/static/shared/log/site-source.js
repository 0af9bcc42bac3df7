/**
 * Replaces the server in a static site (docs/site.md): the same answers, from the site's files.
 *
 * Each file is a script, because a browser loads scripts also in a sandboxed frame and from a disk, where it refuses `fetch`. A log's
 * file holds the same parts as a saved page, and is read as one.
 */

import { msg } from "../words/msg.js";
import { fileSource } from "./file-source.js";
import { json } from "./responses.js";

const NOT_INSIDE = {
  title: msg`Not in this site`,
  detail: msg`This site has only what was recorded for this page. Run KVScope to compute this.`,
  status: 409,
};

/** The answer to `/readyz`. */
const READINESS = { state: "none", message: msg`This site shows recorded runs. No model runs here.`, model: null };

/** The answers that app/site/build.py writes as files. Others would need a model. */
const FILES = [
  /^\/static\/shared\/words\/glossary\.json$/,
  /^\/api\/(index|code|lessons)$/,
  /^\/api\/lessons\/[^/?]+\/template$/,
  /^\/api\/(lessons|by-hand|runs)\/[^/?]+$/,
  /^\/api\/runs\/[^/?]+\/family(\?|$)/,
];
const LOG = /^(\/api\/(?:sessions|runs)\/[^/]+)\/(?:frames|values)$/;
/** A run of a browser that a page has lost: the site has no files of it. */
const OF_DEVICE = /^\/api\/runs\/here-/;
const SESSION = /^\/api\/sessions\/[^/]+$/;

/**
 * @param {Object} parts
 * @param {(path: string) => Promise<any>} parts.load reads the data of the script at this path of the site
 * @param {SubtleCrypto|undefined} parts.subtle absent in an insecure context: then nothing is checked
 * @returns {Function} a replacement of the browser's `fetch`
 */
export function siteSource({ load, subtle }) {
  /** Sources of logs, by their paths. */
  const logs = new Map();

  const logAt = (base) => {
    if (!logs.has(base)) {
      const reading = load(`${base}/frames.js`).then(({ manifest, parts }) =>
        fileSource({ manifest, base, subtle, textOf: textIn(base, parts) }),
      );
      logs.set(base, reading);
      reading.catch(() => logs.delete(base));
    }
    return logs.get(base);
  };

  /** Reads exact values, which have one file for each layer. */
  const textIn = (base, parts) => {
    const layers = new Map();
    return async (id) => {
      const layer = /^values-\d+-(\d+)$/.exec(id)?.[1];
      if (layer === undefined) return parts[id] ?? null;
      if (!layers.has(layer)) layers.set(layer, load(`${base}/values-${layer}.js`));
      return (await layers.get(layer))[id] ?? null;
    };
  };

  return async (path, { method = "GET" } = {}) => {
    const { pathname } = new URL(path, "http://site");
    if (method !== "GET" || OF_DEVICE.test(pathname)) return json(NOT_INSIDE, NOT_INSIDE.status);
    if (pathname === "/readyz") return json(READINESS, 503);
    const base = LOG.exec(pathname)?.[1] ?? (SESSION.test(pathname) ? pathname : null);
    if (base) return (await logAt(base))(path);
    if (!FILES.some((file) => file.test(path))) return json(NOT_INSIDE, NOT_INSIDE.status);
    return json(await load(`${pathname.replace(/\.json$/, "")}.js`));
  };
}
